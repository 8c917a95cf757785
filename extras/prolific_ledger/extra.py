"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

EXTRA = Extra(
    name="prolific_ledger",
    title="Ledger of Prolific",
    summary="Every amount of a study on Prolific is shown next to Prolific’s own figures.",
    group="recruiting",
    addresses={"studies/<slug:slug>/people/prolific/money/": "pages"},
    sections={"prolific_ledger:": "annotators"},
    recruiting=(
        Place("pages:LEDGER", at="actions"),
        Place("pages:HOME_LINK", at="pages"),
        Place("pages:SETTLE_LINK", at="pages"),
    ),
)
