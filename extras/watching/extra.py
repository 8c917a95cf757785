"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="watching",
    title="Watched judges",
    summary=(
        "A frozen set of items is asked again on a schedule: you learn whether the judge, the "
        "items or people have moved."
    ),
    group="judges",
    addresses={"studies/<slug:slug>/watched-sets/": "urls"},
    sections={"watching:": "judges"},
    holdings=(
        Placed("views:content_of", at="study"),
        Placed("views:needed", at="needed"),
    ),
    exports=("tables:WATCHED_SETS",),
    chapters=(Placed("chapter:CHAPTER", after="position"),),
    readers=("chapter:READER",),
    workbench=(Placed("notices:needs_of", at="needs"),),
    navigation=("views:pages_of",),
)
