"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="prolific_tools",
    title="More of Prolific",
    summary=(
        "Any filter of Prolific, every amount next to Prolific’s own, demographics, and a "
        "rehearsal of the launch."
    ),
    group="recruiting",
    addresses={"studies/<slug:slug>/people/prolific/": "urls"},
    sections={"prolific_tools:": "annotators"},
    holdings=(Placed("forgetting:HELD", at="person"),),
    events=(Placed("forgetting:AT_END", at="ended"),),
    recruiting=(
        Placed("walkthrough:WALK", at="actions"),
        Placed("ledger_page:LEDGER", at="actions"),
        Placed("demographics_page:DEMOGRAPHICS", at="actions"),
        Placed("filters_page:LINK", at="pages"),
        Placed("ledger_page:HOME_LINK", at="pages"),
        Placed("ledger_page:SETTLE_LINK", at="pages"),
        Placed("walkthrough:PANEL", at="pages"),
        Placed("dry_run_page:TRIAL", at="trials"),
        Placed("demographics_page:PART", at="settling"),
    ),
)
