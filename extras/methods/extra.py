"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="methods",
    title="More methods",
    summary="The report adds insight into people’s disagreement, criteria of answers, and values.",
    group="analyses",
    chapters=(
        Placed("insight:INSIGHT", after="position"),
        Placed("disagreement:DISAGREEMENT", after="position"),
        Placed("distances:DISTANCES", after="position"),
        Placed("group_details:GROUP_DETAILS", at="groups"),
        Placed("criteria:CHAPTER", after="position"),
        Placed("values:CHAPTER", after="position"),
    ),
    readers=("criteria:CRITERIA", "values:ITEM_VALUES"),
)
