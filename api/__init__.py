"""The interface for programs: the REST API `/api/v1/`."""
