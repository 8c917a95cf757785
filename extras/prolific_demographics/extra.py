"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

EXTRA = Extra(
    name="prolific_demographics",
    title="Demographics from Prolific",
    summary=(
        "Participants’ demographics from Prolific’s export are compared with their answers here."
    ),
    group="recruiting",
    addresses={"studies/<slug:slug>/people/prolific/demographics/": "pages"},
    sections={"prolific_demographics:": "annotators"},
    holdings=(Place("forgetting:HELD", at="person"),),
    events=(Place("forgetting:AT_END", at="ended"),),
    recruiting=(
        Place("pages:DEMOGRAPHICS", at="actions"),
        Place("pages:PART", at="settling"),
    ),
)
