"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="media",
    title="Pictures and sounds",
    summary="Items show pictures and sounds to people, and to judges that take them.",
    group="files",
    addresses={"studies/<slug:slug>/media/": "urls", "s/<slug:slug>/media/": "participant_urls"},
    sections={"media:": "items"},
    holdings=(
        Placed("holdings:content_of", at="study"),
        Placed("holdings:needed", at="needed"),
    ),
    files=(
        Placed("holdings:KIND_OF_FILES", at="kinds"),
        Placed("keeper:KEEPER", at="media"),
    ),
)
