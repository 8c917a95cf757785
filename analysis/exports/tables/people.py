"""Answers and annotators as export rows, without values that must not be exported."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.db import connection

from analysis.data.annotators.answer_lines import answer_lines
from analysis.data.annotators.answers import (
    annotator_rows,
    answer_page,
    answer_rows,
    demographics,
    feature_keys,
)
from analysis.exports.tables.columns import ANNOTATIONS, names
from analysis.exports.tables.pseudonyms import (
    exported_id,
    exported_id_sql,
    in_cells_of_k,
    to_the_minute,
)
from studies.models.studies import Study

# These values could match the rows of two exports, even if annotators have different names.
_TIMES = {
    "started_at",
    "answered_at",
    "ended_at",
    "active_ms",
    "elapsed_ms",
    "median_active_ms",
    "flags",
}


def annotation_table(
    study: Study, *, free_text: bool = False, times: bool = True
) -> Iterator[dict[str, Any]]:
    """Answers to the items that count, under the exported names of their annotators.

    Withdrawn answers are never exported. The reason of an exclusion is exported only with
    `free_text`, times and durations only with `times`.
    """
    rows, shown = answer_rows(study), feature_keys(study)
    return _exported(study, rows, shown, free_text=free_text, times=times)


def annotation_page(
    study: Study, *, after: tuple[str, str, int] | None, most: int
) -> tuple[list[dict[str, Any]], list[tuple[str, str, int]]]:
    """Some rows of `annotation_table`, and for each the `after` of the rows that follow it."""
    rows = answer_page(study, after=None if after is None else after[:2], most=most)
    people = [row["rater_id"] for row in rows]
    shown = feature_keys(study, {row["persona"] for row in rows})
    begun = None if after is None else (after[0], after[2])
    page = list(_exported(study, rows, shown, begun=begun))
    found = zip(page, people, strict=True)
    return page, [(row["item_id"], person, row["slot"]) for row, person in found]


def _exported(
    study: Study,
    rows: Iterable[dict[str, Any]],
    shown: Mapping[int, list[str]],
    *,
    free_text: bool = False,
    times: bool = True,
    begun: tuple[str, int] | None = None,
) -> Iterator[dict[str, Any]]:
    """Rows of answers as they are exported; `begun` is the last item and slot before them."""
    empty = dict.fromkeys(names(ANNOTATIONS))
    hidden = dict.fromkeys(() if times else empty.keys() & _TIMES)
    raters: dict[str, str] = {}
    item, slot = begun or (None, 0)
    for row in rows:
        key, person = row["item_id"], row["rater_id"]
        slot = slot + 1 if key == item else 1
        item = key
        rater = raters.get(person)
        if rater is None:
            rater = raters[person] = exported_id(study.export_key, person)
        row["answer_id"] = f"{rater}:{key}"
        row["rater_id"] = rater
        row["slot"] = slot
        row["persona_features_shown"] = shown[row.pop("persona")]
        row["parse_status"] = "ok"
        row["checks_passed"] = not row.pop("failed_attention")
        if not free_text:
            row["exclude_reason"] = None
        del row["split"]
        yield empty | row | hidden


def annotation_lines(
    study: Study, *, free_text: bool = False, times: bool = True
) -> Iterator[list[str]] | None:
    """The lines of a CSV file of `annotation_table`, in batches; None if the database cannot."""
    if connection.vendor != "postgresql":
        return None
    kept = names(ANNOTATIONS)
    hidden = {*(() if free_text else ["exclude_reason"]), *(() if times else _TIMES)}
    return answer_lines(
        study,
        columns=[name if name not in hidden else "" for name in kept],
        rater=exported_id_sql(study.export_key, "pseudonym"),
    )


def annotator_table(
    study: Study,
    columns: tuple[str, ...],
    *,
    identified: bool = False,
    times: bool = True,
    after: str = "",
    most: int | None = None,
) -> Iterator[dict[str, Any]]:
    """The annotators of a study by exported name, because the order of arrival could identify them.

    Demographics are exported only in cells of at least five. Annotators who did not consent or
    withdrew are exported only if `identified`, so that they can be paid. `after` is the name of an
    annotator, and `most` limits the number of those that follow.
    """
    hidden = dict.fromkeys(() if times else _TIMES)
    people, keys = demographics(study, with_withdrawn=identified)
    published = in_cells_of_k({pseudonym: given for _, pseudonym, given in people}, keys)
    by_name = sorted((exported_id(study.export_key, pseudonym), pk) for pk, pseudonym, _ in people)
    order = [pk for name, pk in by_name if name > after][:most]
    for row in annotator_rows(study, identified=identified, order=order):
        person = row["rater_id"]
        exported = {
            "rater_id": exported_id(study.export_key, person),
            "pseudonym": person,
            "demographics": published[person],
            "all_demographics": row["demographics"],
            "started_at": to_the_minute(row["started_at"]),
            "ended_at": to_the_minute(row["ended_at"]),
        }
        yield {column: (row | exported | hidden).get(column) for column in columns}
