"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="prolific_ledger",
    title="Ledger of Prolific",
    summary="Every amount of a study on Prolific is shown next to Prolific’s own figures.",
    group="recruiting",
    addresses={"studies/<slug:slug>/people/prolific/money/": "pages"},
    sections={"prolific_ledger:": "annotators"},
    recruiting=(
        Placed("pages:LEDGER", at="actions"),
        Placed("pages:HOME_LINK", at="pages"),
        Placed("pages:SETTLE_LINK", at="pages"),
    ),
)
