"""Reading of files in any format as rows: formats, archives, faults, limits."""
