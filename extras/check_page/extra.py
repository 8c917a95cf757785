"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="check_page",
    title="Check page",
    summary="The page /check/ checks a table of labels in the browser and sends nothing.",
    group="installation",
    addresses={"check/": "urls"},
    parts=(Placed("views:LINK", at="sign_in"),),
)
