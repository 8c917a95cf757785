"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="prolific_demographics",
    title="Demographics from Prolific",
    summary=(
        "Participants’ demographics from Prolific’s export are compared with their answers here."
    ),
    group="recruiting",
    addresses={"studies/<slug:slug>/people/prolific/demographics/": "pages"},
    sections={"prolific_demographics:": "annotators"},
    holdings=(Placed("forgetting:HELD", at="person"),),
    events=(Placed("forgetting:AT_END", at="ended"),),
    recruiting=(
        Placed("pages:DEMOGRAPHICS", at="actions"),
        Placed("pages:PART", at="settling"),
    ),
)
