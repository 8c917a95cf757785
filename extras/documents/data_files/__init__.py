"""Files that other programs open with labels:

SPSS, Stata, Parquet, CSV for spreadsheets of other countries, a codebook, and tasks of labelling
programs.
"""
