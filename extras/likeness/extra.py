"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="likeness",
    title="Likeness to people",
    summary="How much a judge is like a person: kappas, tiers, one person left out.",
    group="analyses",
    addresses={"studies/<slug:slug>/reports/": "urls"},
    sections={"likeness:": "report"},
    holdings=(Placed("views:HELD", at="person"),),
    parts=(Placed("views:PERSON", at="person"),),
    chapters=(
        Placed("tiers:TIERS", at="agreement"),
        Placed("tiers:LEAVE_ONE_OUT", at="agreement"),
        Placed("mistakes:MISTAKES", at="agreement"),
    ),
    navigation=("views:_pages",),
)
