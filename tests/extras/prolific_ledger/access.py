"""Who may open the page of payments."""

LEFT_OUT = {"recruiting on Prolific, tried with the simulated one": "prolific_ledger:"}
