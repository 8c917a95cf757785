"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

EXTRA = Extra(
    name="item_editing",
    title="Editing items",
    summary=("Items and personas can be edited and deleted on pages until somebody has an item."),
    group="installation",
    addresses={"studies/<slug:slug>/": "views"},
    sections={"item_editing:": "items"},
    parts=(
        Place("views:EDIT", at="item"),
        Place("views:PERSONA", at="item"),
        Place("views:DELETE", at="item"),
        Place("views:DELETE_ALL", at="item"),
    ),
)
