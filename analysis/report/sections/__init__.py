"""The chapters of a report, one module or package each."""
