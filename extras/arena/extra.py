"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="arena",
    title="Live arena",
    summary=(
        "People choose blind between answers that systems write meanwhile: a ranking of systems."
    ),
    group="people",
    analyses={"arena": "Ranking of the systems of a live arena"},
    addresses={"studies/<slug:slug>/": "urls"},
    sections={"arena:": "items"},
    holdings=(
        Placed("setup:needed", at="needed"),
        Placed("asking:forget_texts", at="removals"),
    ),
    files=(Placed("study_file:FILE", at="study", after="wordings"),),
    seat_rules=(Placed("seats:WRITTEN_NOW", at="later"),),
    chapters=(Placed("chapter:CHAPTER", after="position"),),
    readers=("ranking:READER",),
    workbench=(
        Placed("setup:arena_task", at="tasks"),
        Placed("setup:arena_needs", at="needs"),
    ),
    navigation=("pages:pages",),
)
