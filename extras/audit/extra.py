"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="audit",
    title="Audit and notes of items",
    summary="Problems of items are found before anybody answers; you note what you see in them.",
    group="files",
    addresses={"studies/<slug:slug>/": "urls"},
    sections={"audit:": "items"},
    events=(Placed("job:audit_for", at="imported"),),
    parts=(
        Placed("views:AFTER_IMPORT", at="import"),
        Placed("note_views:ITEM_PART", at="item_page"),
    ),
    exports=("notes:TABLE",),
    readers=(Placed("notes:NOTES", at="notes"),),
    workbench=(
        Placed("job:items_task", at="tasks"),
        Placed("job:opening_checks", at="launch_checks"),
    ),
    navigation=("views:section_page",),
)
