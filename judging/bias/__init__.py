"""Bias probes: changes of a prompt that should not change a judgment, one class each. Pure."""
