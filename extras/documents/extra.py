"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="documents",
    title="Files for a paper",
    summary=(
        "Reports come with two pages for a paper, the article’s tables and figures, and pictures."
    ),
    group="files",
    addresses={"studies/<slug:slug>/reports/<str:public_id>/": "urls"},
    files=(
        Placed("files:PICTURES", at="report"),
        Placed("files:PAPER", at="report"),
        Placed("files:ARTICLE", at="article"),
    ),
)
