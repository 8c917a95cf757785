"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

EXTRA = Extra(
    name="documents",
    title="Files for a paper",
    summary=(
        "Reports come with two pages for a paper, the article’s tables and figures, and pictures."
    ),
    group="files",
    addresses={"studies/<slug:slug>/reports/<str:public_id>/": "urls"},
    files=(
        Place("files:PICTURES", at="report"),
        Place("files:PAPER", at="report"),
        Place("files:ARTICLE", at="article"),
    ),
)
