"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

EXTRA = Extra(
    name="data_files",
    title="Files for statistics programs",
    summary=(
        "Exports for SPSS, Stata, R and spreadsheets, with labels, a wide table and a codebook."
    ),
    group="files",
    exports=(
        Place("formats:SPSS", at="formats"),
        Place("formats:STATA", at="formats"),
        Place("formats:PARQUET_R", at="formats"),
        Place("formats:BOM", at="formats"),
        Place("formats:CSV2", at="formats"),
        Place("formats:CSV2_BOM", at="formats"),
        Place("formats:SEMICOLON", at="formats"),
        Place("formats:SEMICOLON_BOM", at="formats"),
        Place("codebook:PAGE", at="formats"),
        Place("codebook:DDI", at="formats"),
        "other_shapes:MT_BENCH",
        "other_shapes:WIDE",
        "other_shapes:RELIABILITY",
        "codebook:CODEBOOK",
    ),
)
