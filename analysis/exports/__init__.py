"""Exports: tables under exported names, their description, and their delivery as files."""
