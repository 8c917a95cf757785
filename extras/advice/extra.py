"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="advice",
    title="Advice and debates",
    summary=(
        "Annotators answer before and after they see an advice or a debate that models wrote; "
        "judges can discuss as a jury."
    ),
    group="people",
    analyses={
        "advice": "How far people and judges follow advice after their first answer",
        "arms": "Accuracy with a debate, with one adviser, and without",
    },
    addresses={"studies/<slug:slug>/": "urls"},
    sections={"advice:debates": "items"},
    holdings=(
        Placed("arguing:COPIES", at="kinds_of_copies"),
        Placed("arms:with_beliefs", at="related"),
        Placed("arms:needed", at="needed"),
    ),
    parts=(Placed("discussions:DISCUSS", at="campaign"),),
    seat_rules=(Placed("arms:ONE_ARM", at="versions"),),
    protocols=(
        "protocols:ADVICE",
        "protocols:DISCUSSION",
    ),
    chapters=(
        Placed("chapter:CHAPTER", after="position"),
        Placed("arms_chapter:CHAPTER", after="position"),
    ),
    readers=(
        "answers_before:ADVISED",
        "beliefs:BELIEFS",
    ),
    navigation=("pages:pages",),
)
