"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="improving",
    title="Judges that learn from people",
    summary=(
        "Wordings for a judge are learned from one part of people’s answers and tried once on a "
        "sealed part: you learn whether one is better."
    ),
    group="judges",
    addresses={"studies/<slug:slug>/improvements/": "urls"},
    sections={"improving:": "judges"},
    holdings=(
        Placed("requests:needed", at="needed"),
        Placed("forgetting:HELD", at="person"),
    ),
    events=(Placed("forgetting:AT_END", at="ended"),),
    exports=("tables:IMPROVEMENTS",),
    routes=("api:ROUTER",),
    chapters=(Placed("chapter:CHAPTER", after="position"),),
    readers=("chapter:READER",),
    navigation=("views:pages_of",),
)
