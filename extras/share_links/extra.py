"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="share_links",
    title="Links for readers",
    summary="A link opens a report without an account, also for blind review.",
    group="installation",
    addresses={"": "urls"},
    holdings=(
        Placed("links:HELD", at="person"),
        Placed("links:links_of_an_owner", at="rights"),
    ),
    exports=(Placed("blind_bundle:EXPORT", at="folders"),),
    reports=(Placed("links:LINKS", at="links"),),
)
