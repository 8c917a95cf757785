"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

EXTRA = Extra(
    name="several_studies",
    title="Reports on several studies",
    summary=(
        "Studies are reported side by side, pooled, or as the article’s tables with a row for each."
    ),
    group="installation",
    addresses={"several-studies/": "urls"},
    holdings=(
        Place("building:HELD", at="person"),
        Place("building:content_of", at="study"),
        Place("building:delete_files", at="removals"),
    ),
    files=(Place("building:FILES", at="kinds"),),
    parts=(Place("views:LINK", at="studies"),),
    reports=(Place("commands:SEVERAL", at="several"),),
)
