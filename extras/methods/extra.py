"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="methods",
    title="More methods",
    summary="The report adds insight into people’s disagreement and criteria of answers.",
    group="analyses",
    chapters=(
        Placed("insight:INSIGHT", after="certainty"),
        Placed("disagreement:DISAGREEMENT", after="agreement"),
        Placed("distances:DISTANCES", after="agreement"),
        Placed("group_details:GROUP_DETAILS", at="groups"),
        Placed("criteria:CHAPTER", after="bias"),
    ),
    readers=("criteria:CRITERIA",),
)
