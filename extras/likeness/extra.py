"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

EXTRA = Extra(
    name="likeness",
    title="Likeness to people",
    summary="How much a judge is like a person: kappas, tiers, one person left out.",
    group="analyses",
    addresses={"studies/<slug:slug>/reports/": "urls"},
    sections={"likeness:": "report"},
    holdings=(Place("views:HELD", at="person"),),
    parts=(Place("views:PERSON", at="person"),),
    chapters=(
        Place("tiers:TIERS", at="agreement"),
        Place("tiers:LEAVE_ONE_OUT", at="agreement"),
        Place("mistakes:MISTAKES", at="agreement"),
    ),
    navigation=("views:_pages",),
)
