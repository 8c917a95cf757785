"""What holds for every test."""

from django.core.servers.basehttp import WSGIRequestHandler

from tests.sampling import (
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_report_header,
)

__all__ = [
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_report_header",
]

# `live_server` sends head and body apart, and the second would wait 40 ms for the client to
# acknowledge the first.
WSGIRequestHandler.disable_nagle_algorithm = True
