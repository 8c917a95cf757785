"""The administrators' pages: all studies and reports, agreement across them, users, the server."""
