"""A client of the REST API: a study from a notebook or a script.

    from thirdperson import Client

    client = Client("https://thirdperson.example.org", token="thirdperson_…")
    study = client.study("everyday")
    study.answers()

Tables are DataFrames if pandas is installed, otherwise lists of dicts. It needs only `requests` and
imports nothing of the server.
"""

from thirdperson.client.connection import ApiError, JobFailed
from thirdperson.client.objects import ApiExport, ApiReport, ApiRun, ApiStudy, Client

__all__ = [
    "ApiError",
    "ApiExport",
    "ApiReport",
    "ApiRun",
    "ApiStudy",
    "Client",
    "JobFailed",
]
