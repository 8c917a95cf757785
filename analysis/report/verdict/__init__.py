"""The first screen of a report, from report.json."""
