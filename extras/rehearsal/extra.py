"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="rehearsal",
    title="Rehearsal of a launch",
    summary=("A launch is tried with the real account: drafts are created, compared and deleted."),
    group="recruiting",
    addresses={"studies/<slug:slug>/people/prolific/": "pages"},
    sections={"rehearsal:": "annotators"},
    recruiting=(
        Placed("pages:TRIAL", at="trials"),
        Placed("walkthrough:WALK", at="actions"),
        Placed("walkthrough:PANEL", at="pages"),
    ),
)
