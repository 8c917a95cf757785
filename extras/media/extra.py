"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="media",
    title="Pictures, sounds and films",
    summary=(
        "Items show pictures, sounds and short films to people, and to judges that take them; of "
        "films, judges get frames."
    ),
    group="files",
    addresses={"": "urls"},
    sections={"media:": "items"},
    holdings=(
        Placed("holdings:content_of", at="study"),
        Placed("holdings:needed", at="needed"),
    ),
    exports=("exports:FRAMES",),
    files=(
        Placed("holdings:KIND_OF_FILES", at="kinds"),
        Placed("keeper:KEEPER", at="media"),
    ),
)
