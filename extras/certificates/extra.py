"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="certificates",
    title="Certified thresholds and labels",
    summary=(
        "For which items a judge may replace people, with a guarantee; labels by people and "
        "judge together."
    ),
    group="judges",
    reasons={
        "is_certified": "it is certified",
        "not_labelled": "it was not used to label items",
        "no_number_is_enough": "no number of labels would be enough at the observed error",
    },
    addresses={"studies/<slug:slug>/certificates/": "urls"},
    sections={"certificates:": "report"},
    holdings=(
        Placed("labels:COPIES", at="kinds_of_copies"),
        Placed("views:content_of", at="study"),
        Placed("views:needed", at="needed"),
    ),
    chapters=(
        Placed("chapter:CERTIFICATES", after="position"),
        Placed("certified:SIGNALS_SHOWN", at="certainty", after="high_sets"),
        Placed("certified:CERTIFIED", at="certainty"),
    ),
    readers=("computed:CERTIFICATES",),
    navigation=("views:pages_of",),
)
