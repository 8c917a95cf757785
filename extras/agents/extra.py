"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="agents",
    title="Tools for agents",
    summary=(
        "AI agents read and prepare studies through the Model Context Protocol; what they "
        "propose waits for a person."
    ),
    group="files",
    addresses={"studies/<slug:slug>/proposals/": "urls"},
    sections={"agents:": "settings"},
    holdings=(Placed("views:content_of", at="study"),),
    workbench=(Placed("views:needs_of", at="needs"),),
    navigation=("views:pages_of",),
)
