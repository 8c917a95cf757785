"""Who may open the page of results of authenticity checks."""

LEFT_OUT = {"recruiting on Prolific, tried with the simulated one": "authenticity:"}
