"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="editing",
    title="Editing studies",
    summary=(
        "Items and personas are edited on pages until somebody has an item; a study is exported "
        "as a folder of files, and `apply` makes or changes it from them."
    ),
    group="installation",
    former=("item_editing", "study_files"),
    addresses={"studies/<slug:slug>/": "urls"},
    sections={"editing:": "items"},
    files=(Placed("applying:PARTS", at="study"),),
    exports=(Placed("applying:EXPORT", at="folders"),),
    parts=(
        Placed("views:EDIT", at="item"),
        Placed("views:PERSONA", at="item"),
        Placed("views:DELETE", at="item"),
        Placed("views:DELETE_ALL", at="item"),
    ),
)
