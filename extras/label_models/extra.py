"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="label_models",
    title="One label from many",
    summary=(
        "Experts decide split items without seeing answers, and models of annotators (Dawid and "
        "Skene, one coin, MACE, GLAD) combine many answers into one."
    ),
    group="analyses",
    analyses={"adjudication": "People and judges against labels of experts"},
    addresses={"": "urls"},
    sections={"adjudication:": "report"},
    holdings=(
        Placed("adjudicating:needed", at="needed"),
        Placed("adjudicating:content_of", at="study"),
        Placed("adjudicating:copy_rule", at="copies"),
        Placed("adjudicating:forget_items", at="removals"),
        Placed("adjudicating:links_of_an_owner", at="rights"),
    ),
    importers=(Placed("adjudicating:DECISIONS", at="answers"),),
    files=(Placed("rule_file:FILE", at="study", after="wordings"),),
    exports=("labels:TABLES",),
    chapters=(
        Placed("rules:RULES", at="agreement", after="alpha_check"),
        Placed("adjudication_chapter:CHAPTER", after="agreement"),
    ),
    readers=("experts:ADJUDICATED",),
    workbench=(Placed("pages:expert_needs", at="needs"),),
    navigation=("pages:section_pages",),
)
