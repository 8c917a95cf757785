"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="privacy",
    title="Requests of participants",
    summary=(
        "You find a person, show what is stored, and correct, withdraw or delete it, with a "
        "certificate."
    ),
    group="installation",
    addresses={"studies/<slug:slug>/people/find/": "urls"},
    sections={"privacy:": "annotators"},
    holdings=(Placed("reports_and_exports:HELD", at="person"),),
    parts=(Placed("views:PERSON", at="person_pages"),),
    navigation=("views:search_page",),
)
