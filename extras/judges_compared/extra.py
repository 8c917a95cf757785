"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="judges_compared",
    title="Judges compared",
    summary="Whether any judges differ, which pairs do, and how much each is like a person.",
    group="analyses",
    analyses={"several": "Which judge is best (Cochran's Q, pairs, ranks)"},
    chapters=(
        Placed("ranking:RANKING", at="accuracy"),
        Placed("tiers:TIERS", at="agreement"),
        Placed("tiers:LEAVE_ONE_OUT", at="agreement"),
    ),
)
