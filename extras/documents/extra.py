"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="documents",
    title="Files for a paper and for other programs",
    summary=(
        "Two pages for a paper, the article’s tables and figures, and pictures; exports for SPSS, "
        "Stata, R, Parquet, spreadsheets, Label Studio and Argilla."
    ),
    group="files",
    former=("data_files", "labelling"),
    addresses={"studies/<slug:slug>/reports/<str:public_id>/": "urls"},
    files=(
        Placed("files:PICTURES", at="report"),
        Placed("files:PAPER", at="report"),
        Placed("files:ARTICLE", at="article"),
    ),
    exports=(
        Placed("data_files.parquet:PARQUET", at="formats"),
        Placed("data_files.formats:SPSS", at="formats"),
        Placed("data_files.formats:STATA", at="formats"),
        Placed("data_files.formats:PARQUET_R", at="formats"),
        Placed("data_files.formats:BOM", at="formats"),
        Placed("data_files.formats:CSV2", at="formats"),
        Placed("data_files.formats:CSV2_BOM", at="formats"),
        Placed("data_files.formats:SEMICOLON", at="formats"),
        Placed("data_files.formats:SEMICOLON_BOM", at="formats"),
        Placed("data_files.codebook:PAGE", at="formats"),
        Placed("data_files.codebook:DDI", at="formats"),
        "data_files.other_shapes:MT_BENCH",
        "data_files.other_shapes:WIDE",
        "data_files.other_shapes:RELIABILITY",
        "data_files.codebook:CODEBOOK",
        "data_files.labelling:ARGILLA",
        "data_files.labelling:LABEL_STUDIO",
    ),
)
