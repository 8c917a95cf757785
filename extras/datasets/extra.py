"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

EXTRA = Extra(
    name="datasets",
    title="Released data sets",
    summary="Items can be imported from data sets that others released.",
    group="installation",
    importers=(
        Place("opinionqa:OPINIONQA", at="sets"),
        Place("ec:EC", at="sets"),
        Place("personal_reddit:PERSONAL_REDDIT", at="sets"),
        Place("multipref:MULTIPREF", at="sets"),
        Place("persona_feedback:PERSONA_FEEDBACK", at="sets"),
        Place("daily_dilemmas:DAILY_DILEMMAS", at="sets"),
        Place("mena_values:MENA_VALUES", at="sets"),
        Place("arena:ARENA", at="sets"),
        Place("helpsteer:HELPSTEER", at="sets"),
    ),
)
