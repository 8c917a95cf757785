"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="certainty",
    title="Certainty in detail",
    summary=(
        "The report adds every threshold, the kinds of certainty on the same items, and its "
        "value on other items."
    ),
    group="analyses",
    chapters=(
        Placed("reliability:RELIABILITY", at="certainty", after="calibration"),
        Placed("kinds_shown:KINDS_OF_CERTAINTY", at="certainty", after="certainty_distribution"),
        Placed("sides:LIKE_FOR_LIKE", at="certainty", after="certainty_comparison"),
        Placed("sides:INTERACTION", at="certainty", after="high_sets"),
        Placed("measures:VALIDATION", at="certainty", after="high_sets"),
        Placed("measures:OTHER_CERTAINTIES", at="certainty", after="high_sets"),
        Placed("thresholds:THRESHOLDS", at="certainty"),
        Placed("measures:SCALE_USE", at="certainty"),
        Placed("preferences:PREFERENCES", at="certainty"),
    ),
)
