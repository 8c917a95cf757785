"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

EXTRA = Extra(
    name="rehearsal",
    title="Rehearsal of a launch",
    summary=("A launch is tried with the real account: drafts are created, compared and deleted."),
    group="recruiting",
    addresses={"studies/<slug:slug>/people/prolific/": "pages"},
    sections={"rehearsal:": "annotators"},
    recruiting=(
        Place("pages:TRIAL", at="trials"),
        Place("walkthrough:WALK", at="actions"),
        Place("walkthrough:PANEL", at="pages"),
    ),
)
