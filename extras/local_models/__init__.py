"""Models on this machine: in the workers, by torch and transformers, or a GGUF file as a server."""
