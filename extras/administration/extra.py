"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="administration",
    title="Administration",
    summary="Superusers get pages for studies, accounts, the server and backups.",
    group="installation",
    addresses={"administration/": "urls", "admin/components/": "components"},
    parts=(Placed("views:LINK", at="administration"),),
)
