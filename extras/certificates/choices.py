"""Choices for forms and commands, in a module that loads no statistics packages."""

SIGNALS = ("stated", "probabilities", "native", "agreement", "orders", "entropy")
TARGETS = ("first_person", "majority")
BY = ("item", "persona")  # what counts equally in the promised share of errors
