"""What shows whether a model changed while it judged, as rows of an export."""

from collections.abc import Iterator
from typing import Any

from analysis.data.judges.drift import anchor_rows, version_rows
from analysis.exports.tables.columns import ANCHORS, VERSIONS, in_columns
from analysis.exports.tables.pseudonyms import to_the_minute
from studies.exporters.items import may_redistribute
from studies.models.studies import Study


def version_table(study: Study) -> Iterator[dict[str, Any]]:
    return in_columns(_named_hours(study), VERSIONS)


def _named_hours(study: Study) -> Iterator[dict[str, Any]]:
    for row in version_rows(study):
        yield row | {"hour": to_the_minute(row["hour"])}


def anchor_table(study: Study) -> Iterator[dict[str, Any]]:
    """Replies can quote the items, so they are exported only if the items can be."""
    return in_columns(_coarse_anchors(study), ANCHORS)


def _coarse_anchors(study: Study) -> Iterator[dict[str, Any]]:
    has_replies = may_redistribute(study)
    for row in anchor_rows(study):
        row["answered_at"] = to_the_minute(row["answered_at"])
        if not has_replies:
            row["raw_text"] = None
        yield row
