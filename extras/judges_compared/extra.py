"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="judges_compared",
    title="Judges and wordings compared",
    summary=(
        "Which judges differ, how much each is like a person, and whether a judge answers "
        "differently if it is asked in other words."
    ),
    group="analyses",
    former=("wordings",),
    analyses={
        "several": "Which judge is best (Cochran's Q, pairs, ranks)",
        "wording": "Effect of wording, framing and order",
    },
    protocols=(
        Placed("protocols:COMMITTED", after="reason-after"),
        Placed("protocols:REFERENCE", after="committed"),
    ),
    chapters=(
        Placed("ranking:RANKING", at="accuracy"),
        Placed("tiers:TIERS", at="agreement"),
        Placed("tiers:LEAVE_ONE_OUT", at="agreement"),
        Placed("wording:WORDINGS", after="position"),
    ),
    readers=("references:REFERENCES",),
)
