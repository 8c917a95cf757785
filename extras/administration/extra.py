"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="administration",
    title="Administration",
    summary=(
        "Pages for superusers, activity of studies, backups, the doctor, the documentation, "
        "spans for OpenTelemetry and figures for Prometheus."
    ),
    group="installation",
    former=("telemetry",),
    addresses={"": "urls"},
    sections={"activity:": "settings"},
    parts=(
        Placed("views:LINK", at="administration"),
        Placed("documentation.views:LINK", at="main"),
    ),
    runs=(Placed("telemetry.spans:SPANS", at="observers"),),
    navigation=("activity:section_page",),
)
