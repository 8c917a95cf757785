"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="panels",
    title="People from other panels",
    summary=(
        "Connect, MTurk, SONA, Qualtrics, Cint and other panels send people, who share the seats "
        "of the study and go back with the right ending."
    ),
    group="recruiting",
    analyses={"panels": "Differences between the panels that people came from"},
    reasons={"too_few_panels": "fewer than two panels have enough people"},
    addresses={"": "urls"},
    sections={"panels:": "annotators"},
    holdings=(
        Placed("setup:needed", at="needed"),
        Placed("setup:content_of", at="study"),
        Placed("setup:copy_panels", at="copies"),
        Placed("forgetting:HELD", at="person"),
        Placed("forgetting:forget_identities", at="identities"),
    ),
    files=(Placed("study_file:FILE", at="study", after="wordings"),),
    exports=("exports:PEOPLE",),
    recruiting=(Placed("returns:PLATFORMS", at="platforms"),),
    chapters=(Placed("chapter:CHAPTER", after="agreement"),),
    readers=("reader:PANELS",),
    workbench=(Placed("checks:launch_checks", at="launch_checks"),),
    navigation=("pages:section_pages",),
)
