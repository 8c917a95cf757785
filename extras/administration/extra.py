"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="administration",
    title="Administration",
    summary="Pages for superusers, activity of studies, backups, the doctor, the documentation.",
    group="installation",
    addresses={
        "administration/": "urls",
        "admin/components/": "components_urls",
        "studies/<slug:slug>/activity/": "activity_urls",
        "": "documentation.urls",
    },
    sections={"activity:": "settings"},
    parts=(
        Placed("views:LINK", at="administration"),
        Placed("documentation.views:LINK", at="main"),
    ),
    navigation=("activity:section_page",),
)
