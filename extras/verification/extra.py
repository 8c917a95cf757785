"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="verification",
    title="Reports computed again",
    summary="A report is computed again from the current answers, and every value compared.",
    group="installation",
    addresses={
        "studies/<slug:slug>/reports/compare/": "comparison_urls",
        "studies/<slug:slug>/reports/<str:public_id>/verify/": "urls",
    },
    sections={"verification:": "report", "comparison:": "report"},
    holdings=(Placed("rechecks:HELD", at="person"),),
    parts=(Placed("views:PART", at="report"),),
)
