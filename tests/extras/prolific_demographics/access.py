"""Who may refresh demographics."""

LEFT_OUT = {"recruiting on Prolific, tried with the simulated one": "prolific_demographics:"}
