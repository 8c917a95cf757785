"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra

EXTRA = Extra(
    name="activity",
    title="Activity",
    summary=("A page of each study lists who changed what and when, with filters and as a file."),
    group="installation",
    addresses={"studies/<slug:slug>/activity/": "pages"},
    sections={"activity:": "settings"},
    navigation=("pages:section_page",),
)
