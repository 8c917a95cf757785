"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="personas",
    title="Changed personas",
    summary=(
        "Items are asked again with changed or exchanged personas, and a judge drafts texts "
        "about personas from their choices."
    ),
    group="judges",
    holdings=(
        Placed("changed_items:COPIES", at="kinds_of_copies"),
        Placed("other_personas:COPIES", at="kinds_of_copies"),
        Placed("drafting:needed", at="needed"),
    ),
    addresses={"studies/<slug:slug>/": "urls"},
    sections={
        "personas:changed-personas": "items",
        "personas:other-personas": "items",
        "personas:": "judges",
    },
    chapters=(
        Placed("signal_chapter:CHAPTER", after="position"),
        Placed("chapter:CHAPTER", after="position"),
    ),
    readers=("signal_chapter:READER",),
    navigation=("profile_views:pages",),
)
