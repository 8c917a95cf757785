"""Fixed rules of every report; docs/methods.md gives the reasons."""

LEVEL = 0.05  # of tests, after adjustment
# With fewer answers, a cell is in italics and groups are not compared, or a cell is a count
# without a percentage.
SMALL = 30
TOO_SMALL = 10
MIN_COMPARED = 30  # with fewer items in common, the headline compares nothing
FULL_SHARE = 0.8  # below this share of their number, what annotators count as is shown
FOLDS = 5  # of items, for corrected certainty
# Accuracy that a threshold on certainty has to reach, chosen on half of the items or certified.
TARGET = 0.8
