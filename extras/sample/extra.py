"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="sample",
    title="Sample study",
    summary="One press makes a finished study to try, with simulated people and judges.",
    group="installation",
    addresses={"sample/": "urls"},
    parts=(Placed("views:OFFER", at="studies"),),
)
