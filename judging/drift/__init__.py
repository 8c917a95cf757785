"""Whether a model changed during a run: anchors asked twice, and the versions a server names."""
