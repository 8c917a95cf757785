"""The choices of forms and commands, without the packages that compute."""

SIGNALS = ("stated", "probabilities", "agreement", "orders", "entropy")
TARGETS = ("first_person", "majority")
