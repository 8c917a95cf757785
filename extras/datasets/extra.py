"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="datasets",
    title="Released data sets",
    summary="Items can be imported from data sets that others released.",
    group="installation",
    importers=(
        Placed("opinionqa:OPINIONQA", at="sets"),
        Placed("ec:EC", at="sets"),
        Placed("personal_reddit:PERSONAL_REDDIT", at="sets"),
        Placed("multipref:MULTIPREF", at="sets"),
        Placed("persona_feedback:PERSONA_FEEDBACK", at="sets"),
        Placed("daily_dilemmas:DAILY_DILEMMAS", at="sets"),
        Placed("mena_values:MENA_VALUES", at="sets"),
        Placed("arena:ARENA", at="sets"),
        Placed("helpsteer:HELPSTEER", at="sets"),
        Placed("self_preference:SELF_PREFERENCE", at="sets"),
    ),
)
