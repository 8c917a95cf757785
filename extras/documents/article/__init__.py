"""The tables and figures of the source article, for any studies: counts, tables, files."""
