"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="panels",
    title="People from other panels",
    summary=(
        "Connect, MTurk, SONA, Qualtrics, Cint and other panels send people, who share the seats "
        "of the study and go back with the right ending."
    ),
    group="recruiting",
    addresses={"s/<slug:slug>/": "urls"},
    recruiting=(Placed("returns:PLATFORMS", at="platforms"),),
)
