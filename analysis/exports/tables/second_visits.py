"""The answers of second visits as rows of an export."""

from collections.abc import Iterator
from typing import Any

from analysis.data.annotators.second_visits import answered_again
from analysis.exports.tables.pseudonyms import exported_id, to_the_minute
from studies.models.studies import Study

_CHUNK = 500


def second_visit_table(study: Study, *, times: bool = True) -> Iterator[dict[str, Any]]:
    """One row for each answer of a second visit, by person and position.

    Of people who completed and did not withdraw, under their names in the other tables. Without
    `times` rows of two exports cannot be matched by them.
    """
    for row in answered_again(study).iterator(chunk_size=_CHUNK):
        yield {
            "study": study.slug,
            "item_id": row.item.key,
            "rater_id": exported_id(study.export_key, row.visit.annotator.pseudonym),
            "position": row.position,
            "shown_first": row.shown_first,
            "choice": row.choice,
            "certainty": row.certainty,
            "answered_at": to_the_minute(row.answered_at) if times else None,
        }
