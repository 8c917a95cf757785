"""A run's questions as files: packs answered elsewhere, batches of a provider, raw replies."""
