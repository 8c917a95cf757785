"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="option_sets",
    title="Sets of responses",
    summary=(
        "Items have three to five responses: pairs of them, rankings by judges and people, "
        "and cycles of choices."
    ),
    group="people",
    importers=(Placed("pairs:PAIRS", at="rows"),),
    protocols=(Placed("listwise:LISTWISE", after="p-true"),),
    chapters=(Placed("chapter:CHAPTER", after="position"),),
    readers=(
        "sets:OPTION_SETS",
        "sets:RANKED_SETS",
    ),
)
