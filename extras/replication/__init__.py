"""Replication of the source paper: recount its released files, or ask its questions again."""
