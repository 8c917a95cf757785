"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="frozen_plans",
    title="Analysis plans",
    summary=(
        "You freeze what will be analysed before there are data; the report says what was "
        "planned and what was done otherwise."
    ),
    group="analyses",
    addresses={"studies/<slug:slug>/reports/": "urls"},
    sections={"frozen_plans:": "report"},
    files=(
        Placed("files:PLAN", at="bundle"),
        Placed("files:DEVIATIONS", at="bundle"),
        Placed("files:STUDY_FILE", at="study", after="wordings"),
    ),
    chapters=(Placed("registration:PART", at="methods"),),
    reports=(Placed("plans:KEEPER", at="plans"),),
    navigation=("pages:pages_of",),
)
