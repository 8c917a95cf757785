"""Who may open the page of the dry run."""

LEFT_OUT = {"recruiting on Prolific, tried with the simulated one": "rehearsal:"}
