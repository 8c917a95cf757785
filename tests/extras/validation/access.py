"""What `tests.test_pairs_at_once` has to know of the pages."""

LEFT_OUT = {"asks a model at once": "validation:datasheet"}
