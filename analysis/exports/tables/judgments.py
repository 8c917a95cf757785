"""Judgments as rows of an export."""

from collections.abc import Iterable, Iterator
from typing import Any

from analysis.data.judges.judgments import judgment_rows
from analysis.exports.tables.columns import JUDGMENTS, in_columns
from analysis.exports.tables.pseudonyms import to_the_minute
from studies.exporters.items import may_redistribute
from studies.models.studies import Study


def judgment_table(study: Study) -> Iterator[dict[str, Any]]:
    """One row for each judgment of an item that counts; open ones are left out.

    Replies can quote the items, so they are exported only if the items can be.
    """
    return exported_judgments(study, judgment_rows(study))


def exported_judgments(study: Study, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Rows of judgments as they are exported."""
    return in_columns(_coarse_rows(study, rows), JUDGMENTS)


def _coarse_rows(study: Study, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    has_replies = may_redistribute(study)
    for row in rows:
        row["answered_at"] = to_the_minute(row["answered_at"])
        if not has_replies:
            row["raw_text"] = row["earlier_replies"] = None
        yield row
