"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="data_files",
    title="Files for other programs",
    summary="Exports for SPSS, Stata, R, Parquet, spreadsheets, Label Studio and Argilla.",
    group="files",
    former=("labelling",),
    exports=(
        Placed("parquet:PARQUET", at="formats"),
        Placed("formats:SPSS", at="formats"),
        Placed("formats:STATA", at="formats"),
        Placed("formats:PARQUET_R", at="formats"),
        Placed("formats:BOM", at="formats"),
        Placed("formats:CSV2", at="formats"),
        Placed("formats:CSV2_BOM", at="formats"),
        Placed("formats:SEMICOLON", at="formats"),
        Placed("formats:SEMICOLON_BOM", at="formats"),
        Placed("codebook:PAGE", at="formats"),
        Placed("codebook:DDI", at="formats"),
        "other_shapes:MT_BENCH",
        "other_shapes:WIDE",
        "other_shapes:RELIABILITY",
        "codebook:CODEBOOK",
        "labelling:ARGILLA",
        "labelling:LABEL_STUDIO",
    ),
)
