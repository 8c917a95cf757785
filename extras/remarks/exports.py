"""Remarks in exports, under the names of people and answers in the other tables."""

from collections.abc import Iterator
from typing import Any

from analysis.errors import ExportError
from analysis.exports.catalogue import Disclosure, ExportTable
from analysis.exports.columns import Column, in_columns
from analysis.exports.rows import exported_id
from analysis.exports.table_files import ExportTableFile
from extras.remarks.asking import asked_in
from extras.remarks.flagged import current_remarks
from studies.models import Item, Study

_COLUMNS = (
    Column("answer_id", "text", "The same as in annotations."),
    Column("study", "text", "Short name of the study."),
    Column("item_id", "text", "The item's id."),
    Column("rater_id", "text", "The person's exported name."),
    Column("choice", "text", "r1, r2 or tie: the answer in content terms."),
    Column("standing", "text", "counted, surplus, released or imported."),
    Column("revision", "integer", "1 = never changed."),
    Column("flag", "text", "sense, same, offensive, known or other; empty without a flag."),
    Column("either", "boolean", "Whether the other response would do as well; empty on a tie."),
    Column("others", "integer", "Of 100 others, how many choose the same; empty if not said."),
    Column("excluded", "boolean", "Whether the person is excluded from analysis."),
)


def remark_rows(study: Study) -> Iterator[dict[str, Any]]:
    """One row for each answer that could have remarks and is not withdrawn."""
    rows = (
        current_remarks(study)
        .filter(answer__assignment__item__split=Item.Split.MAIN)
        .select_related("answer__assignment__item", "answer__assignment__annotator")
        .order_by("answer__assignment__item__key", "answer__assignment__annotator__pseudonym")
    )
    for remarks in rows.iterator(chunk_size=2_000):
        answer = remarks.answer
        assignment = answer.assignment
        rater = exported_id(study.export_key, assignment.annotator.pseudonym)
        yield {
            "answer_id": f"{rater}:{assignment.item.key}",
            "study": study.slug,
            "item_id": assignment.item.key,
            "rater_id": rater,
            "choice": answer.choice,
            "standing": answer.standing,
            "revision": remarks.revision,
            "flag": remarks.flag or None,
            "either": remarks.either,
            "others": remarks.others,
            "excluded": assignment.annotator.excluded_at is not None,
        }


def _table(study: Study, disclosure: Disclosure) -> ExportTableFile:
    if not asked_in(study):
        raise ExportError(
            f"Annotators cannot make remarks in “{study.slug}”. Under Settings, “Remarks”, you "
            "choose which they can make before the first answer."
        )
    return ExportTableFile("remarks", _COLUMNS, lambda: in_columns(remark_rows(study), _COLUMNS))


REMARKS = ExportTable(
    "remarks",
    ("jsonl", "csv", "parquet", "xlsx"),
    "Remarks at items: flags, second choices and guesses about others",
    _table,
)
