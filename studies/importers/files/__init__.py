"""Files of any shape as rows: formats, archives, faults, limits."""
