"""Who may open the pages on Prolific."""

LEFT_OUT = {"recruiting on Prolific, tried with the simulated one": "prolific_tools:"}
