"""From a launch plan to a running study on Prolific."""
