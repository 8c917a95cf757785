"""Trying the program out: a finished study, and a page that checks a table in the browser."""
