"""The chapter on biases of judges."""
