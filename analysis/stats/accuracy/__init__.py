"""Accuracy of answers, and biases of judges."""
