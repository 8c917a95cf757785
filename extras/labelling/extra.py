"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra

EXTRA = Extra(
    name="labelling",
    title="Label Studio and Argilla",
    summary=("Items and answers are exported as tasks of Label Studio and records of Argilla."),
    group="files",
    exports=(
        "shapes:ARGILLA",
        "shapes:LABEL_STUDIO",
    ),
)
