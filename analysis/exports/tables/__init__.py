"""Every table that can be exported: its columns, its rows under exported names, its files."""
