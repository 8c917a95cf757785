"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="own_answers",
    title="People who come back",
    summary=(
        "People answer for themselves, or come back: second visits, waves and linked studies "
        "ask the same people again."
    ),
    group="people",
    addresses={"": "urls"},
    sections={"own_people:": "annotators"},
    holdings=(
        Placed("models:SecondVisitSettings", at="settings"),
        Placed("follow_ups:needed", at="needed"),
        Placed("waves:other_waves", at="related"),
        Placed("linked_studies:related", at="related"),
        Placed("linked_studies:content_of", at="study"),
        Placed("waves:content_of", at="study"),
        Placed("linked_studies:HELD", at="person"),
    ),
    exports=("second_visits:SECOND_VISITS",),
    seat_rules=(Placed("waves:SAME_ITEMS", at="same_items"),),
    events=(
        Placed("second_visits:AT_END", at="ended"),
        Placed("waves:AT_END", at="ended"),
        Placed("waves:ARRIVAL", at="arrived"),
    ),
    steps=(
        "profiles:STEP",
        Placed("second_visits:NOTE", at="notes"),
        Placed("profiles:NOTE", at="notes"),
        Placed("waves:NOTE", at="notes"),
        Placed("second_visits:AGAIN", at="again"),
    ),
    recruiting=(Placed("bringing_back:BACK", at="follow_ups"),),
    chapters=(
        Placed("chapter:CHAPTER", after="position"),
        Placed("wave_chapter:CHAPTER", after="position"),
    ),
    readers=(
        "answers_twice:RETESTS",
        "wave_answers:WAVES",
    ),
    workbench=(Placed("bringing_back:reminder_needs", at="needs"),),
    navigation=("follow_ups:section_page",),
)
