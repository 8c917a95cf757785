"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="planning",
    title="Size and price",
    summary=(
        "Before there are data, you see what a study can show and cost; later you can watch a "
        "comparison."
    ),
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
