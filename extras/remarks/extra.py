"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="remarks",
    title="Flags, second choices and guesses about others",
    summary=(
        "At each item annotators can flag it, say that the other response would do as well, and "
        "guess how many others choose as they do."
    ),
    group="people",
    addresses={"studies/<slug:slug>/remarks/": "urls"},
    sections={"remarks:": "settings"},
    holdings=(
        Placed("setup:copy_questions", at="copies"),
        Placed("setup:needed", at="needed"),
    ),
    files=(Placed("setup:FILE", at="study", after="wordings"),),
    exports=("exports:REMARKS",),
    steps=(
        Placed("asking:QUESTIONS", at="questions"),
        Placed("own_numbers:NOTE", at="notes"),
    ),
    protocols=(
        Placed("protocols:RESPONSE_SET", after="strength"),
        Placed("protocols:OTHERS", after="response-set"),
    ),
    chapters=(Placed("chapter:CHAPTER", after="certainty"),),
    readers=(
        Placed("shown:WORDS", at="words"),
        Placed("flagged:FLAGGED", at="item_sets"),
        "rows:REMARKS",
    ),
    workbench=(
        Placed("setup:setup_task", at="tasks"),
        Placed("flagged:flag_needs", at="needs"),
    ),
    navigation=("setup:pages",),
)
