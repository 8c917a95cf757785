"""`thirdperson check`: from a table of labels by people and judges to a report and a verdict."""
