"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

EXTRA = Extra(
    name="share_links",
    title="Links for readers",
    summary="A link opens a report without an account, also for blind review.",
    group="installation",
    addresses={"": "urls"},
    holdings=(
        Place("links:HELD", at="person"),
        Place("links:links_of_an_owner", at="rights"),
    ),
    exports=(Place("blind_bundle:EXPORT", at="folders"),),
    reports=(Place("links:LINKS", at="links"),),
)
