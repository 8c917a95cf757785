"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="several_studies",
    title="Reports on several studies",
    summary=(
        "Studies are reported side by side, pooled, or as the article’s tables with a row for each."
    ),
    group="installation",
    addresses={"several-studies/": "urls"},
    holdings=(
        Placed("building:HELD", at="person"),
        Placed("building:content_of", at="study"),
        Placed("building:delete_files", at="removals"),
    ),
    files=(Placed("building:FILES", at="kinds"),),
    parts=(Placed("views:LINK", at="studies"),),
    reports=(Placed("commands:SEVERAL", at="several"),),
)
