"""Who may open the page of filters."""

LEFT_OUT = {"recruiting on Prolific, tried with the simulated one": "prolific_filters:"}
