"""What a report decides by and asks nobody: docs/methods.md says why."""

LEVEL = 0.05  # of tests, after adjustment
# Answers below which a cell is in italics and groups are not compared, and below which it is a
# count and no percentage.
SMALL = 30
TOO_SMALL = 10
MIN_COMPARED = 30  # items in common below which the headline compares nothing
FOLDS = 5  # of items, for corrected certainty
# Accuracy that a threshold on certainty has to reach, chosen on half of the items or certified.
TARGET = 0.8
