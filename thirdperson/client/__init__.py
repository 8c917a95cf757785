"""A client of the REST API: a study from a notebook or a script.

    from thirdperson import Client

    client = Client("https://thirdperson.example.org", token="thirdperson_…")
    study = client.study("everyday")
    study.answers()

Tables are DataFrames where pandas is installed, else lists of dicts. Nothing of the server is
imported: `requests` is all that it needs.
"""

from thirdperson.client.connection import ApiError, JobFailed
from thirdperson.client.objects import Client, Export, Report, Run, Study

__all__ = ["ApiError", "Client", "Export", "JobFailed", "Report", "Run", "Study"]
