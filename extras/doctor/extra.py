"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra

EXTRA = Extra(
    name="doctor",
    title="Doctor",
    summary=(
        "A command checks the data and files of an installation and repairs what follows from "
        "other data."
    ),
    group="installation",
)
