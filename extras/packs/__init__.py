"""The questions of a run as files: packs answered elsewhere, batches of a provider, raw replies."""
