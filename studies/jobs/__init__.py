"""Jobs that a user requests and a worker does: imports, reports, rechecks, exports."""
