"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="documentation_pages",
    title="Documentation pages",
    summary="The documentation is shown as pages of the site, with a search.",
    group="installation",
    addresses={"": "urls"},
    parts=(Placed("views:LINK", at="main"),),
)
