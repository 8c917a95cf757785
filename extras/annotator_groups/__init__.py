"""Groups of annotators in a report: who judges whom, and accuracy by people's characteristics."""
