"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="graded",
    title="Graded answers",
    summary="Annotators and judges also state strength, scores, criteria or a reason.",
    group="people",
    reasons={"other_scale": "the judge used another scale than people"},
    addresses={"studies/<slug:slug>/graded/": "urls"},
    sections={"graded:questions": "settings"},
    holdings=(
        Placed("setup:copy_questions", at="copies"),
        Placed("setup:needed", at="needed"),
    ),
    importers=(Placed("imports:GRADES", at="answers"),),
    files=(Placed("setup:FILE", at="study", after="wordings"),),
    exports=(
        "exports:GRADES",
        "exports:GRADED_ITEMS",
        "exports:SCORES",
    ),
    events=(Placed("asking:AT_END", at="ended"),),
    steps=(Placed("asking:QUESTIONS", at="questions"),),
    protocols=(
        Placed("protocols:SCORE_5", after="criteria"),
        Placed("protocols:SCORE_7", after="criteria"),
        Placed("protocols:RIGHT_WRONG", after="criteria"),
        Placed("protocols:STRENGTH", after="levels"),
    ),
    chapters=(Placed("chapter:CHAPTER", after="position"),),
    readers=(
        Placed("shown:WORDS", at="words"),
        "graded_answers:GRADED",
    ),
    workbench=(Placed("setup:setup_task", at="tasks"),),
    navigation=("setup:pages",),
)
