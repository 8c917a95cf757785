"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="estimation",
    title="Estimates with few answers",
    summary=(
        "Rankings of systems, and estimates for all items where people answered only some of them."
    ),
    group="analyses",
    addresses={"studies/<slug:slug>/reports/": "urls"},
    sections={"estimation:": "items"},
    chapters=(
        Placed("systems:SYSTEMS", after="position"),
        Placed("few_people:FEW_PEOPLE", after="position"),
    ),
    readers=("items:SYSTEMS",),
    navigation=("views:_draw_link",),
)
