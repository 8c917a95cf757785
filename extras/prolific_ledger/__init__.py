"""The ledger of a study on Prolific: every amount, next to Prolific's own figures."""
