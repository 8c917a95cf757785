"""Work that a user asks for and a worker does: imports, reports, rechecks, exports."""
