"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="certainty",
    title="Certainty in detail",
    summary=(
        "The report adds all thresholds, compares kinds of certainty, and tries each threshold "
        "on items that did not set it."
    ),
    group="analyses",
    chapters=(
        Placed("reliability:RELIABILITY", at="certainty", after="calibration"),
        Placed("kinds_shown:KINDS_OF_CERTAINTY", at="certainty", after="certainty_distribution"),
        # Both come after the same part of the core; the later one is first.
        Placed("sides:LIKE_FOR_LIKE", at="certainty", after="certainty_comparison"),
        Placed("item_by_item:ITEM_BY_ITEM", at="certainty", after="certainty_comparison"),
        Placed("held_out:HELD_OUT", at="certainty", after="high_sets"),
        Placed("thresholds:THRESHOLDS", at="certainty"),
    ),
)
