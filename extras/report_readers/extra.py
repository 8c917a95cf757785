"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="report_readers",
    title="Reports for readers",
    summary=(
        "A link opens a report without an account, also for blind review; a report is computed "
        "again and every value compared; several studies are reported side by side or pooled."
    ),
    group="installation",
    former=("share_links", "several_studies", "verification"),
    addresses={"": "urls"},
    sections={"verification:": "report", "comparison:": "report"},
    holdings=(
        Placed("links.links:HELD", at="person"),
        Placed("links.links:links_of_an_owner", at="rights"),
        Placed("several.building:HELD", at="person"),
        Placed("several.building:content_of", at="study"),
        Placed("several.building:delete_files", at="removals"),
        Placed("recomputed.rechecks:HELD", at="person"),
    ),
    files=(Placed("several.building:FILES", at="kinds"),),
    exports=(Placed("links.blind_bundle:EXPORT", at="folders"),),
    parts=(
        Placed("several.views:LINK", at="studies"),
        Placed("recomputed.views:PART", at="report"),
    ),
    reports=(
        Placed("several.commands:SEVERAL", at="several"),
        Placed("links.links:LINKS", at="links"),
    ),
)
