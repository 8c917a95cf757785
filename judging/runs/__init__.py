"""From what a researcher asks for to the rows of a run."""
