"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

EXTRA = Extra(
    name="graded",
    title="Graded answers",
    summary="Annotators and judges also state strength, scores, criteria or a reason.",
    group="people",
    reasons={"other_scale": "the judge used another scale than people"},
    addresses={"studies/<slug:slug>/graded/": "urls"},
    sections={"graded:questions": "settings"},
    holdings=(Place("setup:copy_questions", at="copies"),),
    files=(Place("setup:FILE", at="study", after="wordings"),),
    exports=(
        "exports:GRADES",
        "exports:GRADED_ITEMS",
    ),
    events=(Place("asking:AT_END", at="ended"),),
    steps=(Place("asking:QUESTIONS", at="questions"),),
    protocols=(
        Place("protocols:SCORE_5", after="criteria"),
        Place("protocols:SCORE_7", after="criteria"),
        Place("protocols:STRENGTH", after="levels"),
    ),
    chapters=(Place("chapter:CHAPTER", after="certainty"),),
    readers=(
        Place("shown:WORDS", at="words"),
        "graded_answers:GRADED",
    ),
    workbench=(Place("setup:setup_task", at="tasks"),),
    navigation=("setup:pages",),
)
