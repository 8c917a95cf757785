"""The documentation: its pages, the reference made of the code, and the size of the code."""
