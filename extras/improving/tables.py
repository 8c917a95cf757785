"""The table of improvements: one row for each learned wording."""

from collections.abc import Iterator, Sequence
from typing import Any

from analysis.exports.catalogue import Disclosure, ExportTable
from analysis.exports.columns import Column
from analysis.exports.table_files import ExportTableFile
from extras.improving.models import Improvement
from studies.models import Study

COLUMNS = (
    Column("study", "text", "Short name of the study."),
    Column("improvement", "text", "The improvement."),
    Column("run", "text", "The run with the usual wording, by the hash of its parameters."),
    Column("annotator", "integer", "Number of the annotator whom it predicts; empty: all people."),
    Column("split_at", "time", "When people's answers were split."),
    Column("sealed_sha256", "text", "Hash of the sealed answers."),
    Column("opened_at", "time", "When the sealed part was opened; empty if it was not."),
    Column("opening", "integer", "How often it was opened for this judge by then."),
    Column("kind", "text", "What the wording adds."),
    Column("wording", "text", "Name and version."),
    Column("sha256", "text", "Hash of the wording."),
    Column("learned", "number", "Gain on the part to learn from, with cross-fitting."),
    Column("difference", "number", "Gain on the sealed part; empty if it was not tried there."),
    Column("low", "number", "Lower end of its 95 % interval."),
    Column("high", "number", "Upper end."),
    Column("p_holm", "number", "Adjusted p value."),
    Column("is_better", "boolean", "Whether it was shown to be better."),
)


def finished(study: Study) -> list[Improvement]:
    """Those with results, in order."""
    done = Improvement.objects.filter(study=study, state=Improvement.State.DONE)
    return list(done.select_related("run__judge").order_by("pk"))


def numbers_of_annotators(improvements: Sequence[Improvement]) -> dict[str, int]:
    """Numbers in place of pseudonyms, in the order in which people were predicted."""
    names = dict.fromkeys(one.annotator for one in improvements if one.annotator)
    return {name: number for number, name in enumerate(names, 1)}


def _rows(study: Study) -> Iterator[dict[str, Any]]:
    improvements = finished(study)
    number = numbers_of_annotators(improvements)
    for one in improvements:
        for wording in one.results["candidates"]:
            low, high = wording.get("ci") or (None, None)
            yield {
                "study": study.slug,
                "improvement": one.public_id,
                "run": one.run.key,
                "annotator": number.get(one.annotator),
                "split_at": one.created_at,
                "sealed_sha256": one.sealed_sha256,
                "opened_at": one.opened_at,
                "opening": one.opening or None,
                **{name: wording.get(name) for name in ("kind", "wording", "sha256", "learned")},
                "difference": wording.get("difference"),
                "low": low,
                "high": high,
                "p_holm": wording.get("p_holm"),
                "is_better": wording.get("is_better"),
            }


def _table(study: Study, disclosure: Disclosure) -> ExportTableFile:
    return ExportTableFile("improvements", COLUMNS, lambda: _rows(study))


IMPROVEMENTS = ExportTable(
    "improvements",
    ("jsonl", "csv", "xlsx"),
    "Improvements: one row per wording that was learned",
    _table,
)
