"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="methods",
    title="More methods",
    reasons={"less_of_persona": "the run saw less of the persona, and is not tested"},
    summary=(
        "The report adds chapters on disagreement among people, on criteria and values, and on "
        "whether certainty shows who is right."
    ),
    group="analyses",
    chapters=(
        Placed("insight:INSIGHT", after="position"),
        Placed("disagreement:DISAGREEMENT", after="position"),
        Placed("distances:DISTANCES", after="position"),
        Placed("group_details:GROUP_DETAILS", at="groups"),
        Placed("criteria:CHAPTER", after="position"),
        Placed("values:CHAPTER", after="position"),
        Placed("survey_shares:SURVEY", after="position"),
    ),
    readers=("criteria:CRITERIA", "values:ITEM_VALUES", "survey_shares:SURVEY_SHARES"),
)
