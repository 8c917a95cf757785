"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

EXTRA = Extra(
    name="planning",
    title="Size and price",
    summary=("You see what a study can show before it has data, and watch a comparison meanwhile."),
    group="analyses",
    addresses={"studies/<slug:slug>/planning/": "urls"},
    sections={"planning:watched": "report", "planning:forecast": "annotators"},
    workbench=(
        Place("views:on_launch", at="launch_parts"),
        Place("views:plan_task", at="tasks"),
        Place("views:on_monitor", at="cards"),
    ),
    navigation=("views:pages",),
)
