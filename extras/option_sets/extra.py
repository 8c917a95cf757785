"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="option_sets",
    title="Sets of responses",
    summary=("Items have three to five responses, shown in pairs or as a set to rank."),
    group="people",
    importers=(Placed("pairs:PAIRS", at="rows"),),
    protocols=(Placed("listwise:LISTWISE", after="p-true"),),
    chapters=(Placed("chapter:CHAPTER", after="position"),),
    readers=(
        "sets:OPTION_SETS",
        "sets:RANKED_SETS",
    ),
)
