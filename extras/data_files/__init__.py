"""Files that other programs open with labels:

SPSS, Stata, Parquet for R, CSV for spreadsheets of other countries, and a codebook.
"""
