"""One label for each item from the labels of several annotators."""
