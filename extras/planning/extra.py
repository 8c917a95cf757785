"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="planning",
    title="Size and price",
    summary=("You see what a study can show before it has data, and watch a comparison meanwhile."),
    group="analyses",
    addresses={"studies/<slug:slug>/planning/": "urls"},
    sections={
        "planning:watched": "report",
        "planning:forecast": "annotators",
        "planning:plan": "annotators",
    },
    events=(Placed("whole_plan:forecast_in_step", at="seats"),),
    workbench=(
        Placed("views:on_launch", at="launch_parts"),
        Placed("views:plan_task", at="tasks"),
        Placed("views:on_monitor", at="cards"),
    ),
    navigation=("views:pages",),
)
