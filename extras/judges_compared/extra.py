"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="judges_compared",
    title="Judges compared",
    summary=(
        "The report says whether any judges differ, which pairs do, and which ranks are possible."
    ),
    group="analyses",
    analyses={"several": "Which judge is best (Cochran's Q, pairs, ranks)"},
    chapters=(Placed("ranking:RANKING", at="accuracy"),),
)
