"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra

EXTRA = Extra(
    name="watching",
    title="Watched judges",
    summary=(
        "A frozen set of items is asked again on a schedule: you learn whether the judge, the "
        "items or people have moved."
    ),
    group="judges",
)
