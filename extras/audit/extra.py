"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="audit",
    title="Audit of items",
    summary="Problems of items are found before anybody answers.",
    group="files",
    addresses={"studies/<slug:slug>/": "urls"},
    sections={"audit:": "items"},
    events=(Placed("job:audit_for", at="imported"),),
    parts=(Placed("views:AFTER_IMPORT", at="import"),),
    workbench=(
        Placed("job:items_task", at="tasks"),
        Placed("job:opening_checks", at="launch_checks"),
    ),
    navigation=("views:section_page",),
)
