"""The chapters of a report, one module or package each; `report/build.py` has them in order."""
