"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="publication",
    title="Giving a study away",
    summary=(
        "An export of everything has a data card, Croissant metadata, a licence and a citation; "
        "it can be stored at a public archive."
    ),
    group="installation",
    holdings=(Placed("publish:HELD", at="person"),),
    files=(Placed("describing:FILES", at="descriptions"),),
)
