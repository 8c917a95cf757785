"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="prolific_filters",
    title="Prolific’s filters",
    summary="A page finds any filter of Prolific and adds it to a launch plan.",
    group="recruiting",
    addresses={"studies/<slug:slug>/people/prolific/filters/": "pages"},
    sections={"prolific_filters:": "annotators"},
    recruiting=(Placed("pages:LINK", at="pages"),),
)
