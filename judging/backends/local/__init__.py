"""Models in this process, by torch and transformers: options, revisions, loading, answering."""
