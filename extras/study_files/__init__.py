"""A study as a folder of files, from which `apply` makes or changes it."""
