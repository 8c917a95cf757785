"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="rules",
    title="Rules of disagreement",
    summary=(
        "Looks for rules that people follow more or less often than a judge: proposed on half "
        "of the items, tested on the other half."
    ),
    group="analyses",
    addresses={"studies/<slug:slug>/disagreements/": "urls"},
    sections={"rules:": "report"},
    holdings=(Placed("requests:needed", at="needed"),),
    exports=("requests:RULES",),
    chapters=(Placed("chapter:CHAPTER", after="position"),),
    readers=(
        "marks:READER",
        Placed("requests:RULE_ITEMS", at="item_sets"),
    ),
    navigation=("views:pages",),
)
