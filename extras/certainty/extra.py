"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

EXTRA = Extra(
    name="certainty",
    title="Certainty in detail",
    summary=(
        "The report adds every threshold, the kinds of certainty on the same items, and its "
        "value on other items."
    ),
    group="analyses",
    chapters=(
        Place("reliability:RELIABILITY", at="certainty", after="calibration"),
        Place("kinds_shown:KINDS_OF_CERTAINTY", at="certainty", after="certainty_distribution"),
        Place("sides:LIKE_FOR_LIKE", at="certainty", after="certainty_comparison"),
        Place("sides:INTERACTION", at="certainty", after="high_sets"),
        Place("measures:VALIDATION", at="certainty", after="high_sets"),
        Place("measures:OTHER_CERTAINTIES", at="certainty", after="high_sets"),
        Place("thresholds:THRESHOLDS", at="certainty"),
        Place("measures:SCALE_USE", at="certainty"),
        Place("preferences:PREFERENCES", at="certainty"),
    ),
)
