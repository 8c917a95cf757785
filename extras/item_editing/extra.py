"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="item_editing",
    title="Editing items",
    summary=("Items and personas can be edited and deleted on pages until somebody has an item."),
    group="installation",
    addresses={"studies/<slug:slug>/": "urls"},
    sections={"item_editing:": "items"},
    parts=(
        Placed("views:EDIT", at="item"),
        Placed("views:PERSONA", at="item"),
        Placed("views:DELETE", at="item"),
        Placed("views:DELETE_ALL", at="item"),
    ),
)
