"""The choices of forms and commands, without the packages that compute."""

SIGNALS = ("stated", "probabilities", "agreement", "orders", "entropy")
TARGETS = ("first_person", "majority")
# What counts alike in the share of errors that a certificate promises.
BY = ("item", "persona")
