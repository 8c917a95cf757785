"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

EXTRA = Extra(
    name="own_answers",
    title="People who come back",
    summary=(
        "People answer for themselves; profiles, linked studies, second visits and waves ask "
        "the same people again."
    ),
    group="people",
    addresses={"s/<slug:slug>/": "urls", "studies/<slug:slug>/people/": "researcher_urls"},
    sections={"own_people:": "annotators"},
    holdings=(
        Place("models:SecondVisitSettings", at="settings"),
        Place("waves:other_waves", at="related"),
        Place("linked_studies:related", at="related"),
        Place("linked_studies:content_of", at="study"),
        Place("waves:content_of", at="study"),
        Place("linked_studies:HELD", at="person"),
    ),
    exports=("second_visits:SECOND_VISITS",),
    seat_rules=(Place("waves:SAME_ITEMS", at="same_items"),),
    events=(
        Place("second_visits:AT_END", at="ended"),
        Place("waves:AT_END", at="ended"),
        Place("waves:ARRIVAL", at="arrived"),
    ),
    steps=(
        "profiles:STEP",
        Place("second_visits:NOTE", at="notes"),
        Place("profiles:NOTE", at="notes"),
        Place("waves:NOTE", at="notes"),
        Place("second_visits:AGAIN", at="again"),
    ),
    recruiting=(
        Place("bringing_back:BACK", at="follow_ups"),
        Place("bringing_back:DUE", at="audiences"),
    ),
    chapters=(
        Place("chapter:CHAPTER", after="agreement"),
        Place("wave_chapter:CHAPTER", after="agreement"),
    ),
    readers=(
        "answers_twice:RETESTS",
        "wave_answers:WAVES",
    ),
    workbench=(Place("bringing_back:reminder_needs", at="needs"),),
    navigation=(
        "wave_pages:wave_pages",
        "linked_studies:annotator_pages",
    ),
)
