"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="validation",
    title="Validation of judges",
    summary=(
        "Datasheets of judges, how many pasted answers would change the verdict, and one page "
        "with what was validated."
    ),
    group="judges",
    reasons={
        "not_repeated": "no item was read twice in one wording and order",
        "not_both_orders": "no item was read in both orders",
        "few_wordings": "fewer than three wordings",
    },
    addresses={"studies/<slug:slug>/judges/": "urls"},
    sections={"validation:": "judges"},
    probes=(
        "probes:IDENTICAL",
        "probes:EMPTY",
        "probes:OTHER_PERSONA",
    ),
    chapters=(
        Placed("chapter:CHAPTER", after="position"),
        Placed("datasheet:DATASHEETS", after="position"),
    ),
    reports=(Placed("page:VALIDATION", at="pages"),),
    readers=(
        "datasheet:SPEEDS",
        "linked_signal:LINKED",
    ),
    navigation=("asking:pages",),
)
