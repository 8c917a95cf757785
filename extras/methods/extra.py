"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

EXTRA = Extra(
    name="methods",
    title="More methods",
    summary="The report adds insight into people’s disagreement and criteria of answers.",
    group="analyses",
    chapters=(
        Place("insight:INSIGHT", after="certainty"),
        Place("disagreement:DISAGREEMENT", after="agreement"),
        Place("distances:DISTANCES", after="agreement"),
        Place("criteria:CHAPTER", after="bias"),
        Place("crowds:EQUIVALENCE", at="glance"),
        Place("crowds:FRONTIER", at="glance"),
    ),
    readers=("criteria:CRITERIA",),
)
