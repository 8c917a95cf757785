"""Answers for other programs: matrices for R and SPSS, and rows of MT-bench with texts."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any

from django.db.models import Exists, OuterRef

from analysis.data.answer_rows import COUNTED
from analysis.data.item_texts import ItemTexts, item_keys, item_texts
from analysis.errors import ExportError
from analysis.exports.catalogue import ExportTable
from analysis.exports.columns import Column
from analysis.exports.rows import (
    counted_answers,
    exported_id,
    judged_items,
    judgment_table,
)
from analysis.exports.table_files import ExportRow, ExportTableFile
from annotation.models import Annotation, Annotator
from studies.models import Item, Study

# Most cells that spreadsheets and statistics packages open; larger matrices are almost empty.
MAX_CELLS = 5_000_000
CODES = {"r1": 1, "r2": 2, "tie": 3}


def wide_table(study: Study) -> ExportTableFile:
    """One row per item; a choice and a certainty column per annotator and per run.

    Raises `ExportError` if it would be too large.
    """
    raters = _raters(study)
    _check_size(study, raters, cells=2 * len(raters))
    labels = {run["key"]: run for run in _run_labels(study)}
    runs = {key: _run_column(run) for key, run in labels.items()}
    columns = [
        Column("item_id", "text", "The item's id."),
        Column("topic", "text", "What the item is about."),
        Column("first_person", "text", "The person's own answer."),
    ]
    for rater in raters:
        name = _variable(rater)
        columns.append(Column(name, "text", f"The choice of {rater}.", label=True))
        columns.append(Column(f"{name}_certainty", "integer", f"The certainty of {rater}."))
    for key, name in runs.items():
        of_run = f"{_described(labels[key])} (run {key})"
        columns.append(Column(name, "text", f"Verdict of {of_run}."))
        columns.append(
            Column(
                f"{name}_certainty", "number", f"Mean certainty of those that gave it: {of_run}."
            )
        )

    def rows() -> Iterator[ExportRow]:
        for judged in judged_items(study):
            row: ExportRow = {
                "item_id": judged.item.key,
                "topic": judged.item.topic or None,
                "first_person": judged.item.first_person or None,
            }
            for answer in judged.answers:
                name = _variable(answer["rater_id"])
                row[name] = answer["choice"]
                row[f"{name}_certainty"] = answer["certainty"]
            for verdict in judged.verdicts:
                row[runs[verdict["run"]]] = verdict.get("verdict")
                row[f"{runs[verdict['run']]}_certainty"] = verdict.get("certainty")
            yield row

    return ExportTableFile("wide", tuple(columns), rows, cells=dict)


def reliability_matrix(study: Study) -> ExportTableFile:
    """One row per annotator, one column per item: 1, 2 = response, 3 = tie, empty = no answer.

    Raises `ExportError` if it would be too large.
    """
    raters = _raters(study)
    _check_size(study, raters, cells=len(raters))
    keys = item_keys(study)
    columns = (
        Column("rater_id", "text", "The person's exported name."),
        *(Column(key, "integer", f"Answer to {key}.", label=True) for key in keys),
    )

    def rows() -> Iterator[ExportRow]:
        line = {rater: number for number, rater in enumerate(raters)}
        position = {key: number for number, key in enumerate(keys)}
        codes = [bytearray(len(keys)) for _ in raters]
        for answer in counted_answers(study):
            codes[line[answer["rater_id"]]][position[answer["item_id"]]] = CODES[answer["choice"]]
        for rater, row in zip(raters, codes, strict=True):
            named = zip(keys, row, strict=True)
            yield {"rater_id": rater} | {key: code or None for key, code in named}

    return ExportTableFile("reliability", columns, rows)


def _run_labels(study: Study) -> list[dict[str, str]]:
    """The prompts of every run without a bias probe, by judge and key."""
    runs = study.judge_runs.filter(bias_probe="").select_related("judge", "wording")
    return [
        {
            "judge": run.judge.name,
            "key": run.key,
            "setting": run.setting,
            "features": run.features,
            "wording": run.wording.reference if run.wording else "",
            "framing": run.framing,
            "orders": run.get_orders_display(),
        }
        for run in runs.order_by("judge__name", "key")
    ]


def _counted_pseudonyms(study: Study) -> list[str]:
    """Pseudonyms of the annotators with at least one answer that the report counts."""
    counts = Annotation.objects.filter(
        assignment__annotator=OuterRef("pk"),
        assignment__item__split=Item.Split.MAIN,
        standing__in=COUNTED,
    )
    annotators = Annotator.objects.filter(Exists(counts), study=study, excluded_at=None)
    return list(annotators.values_list("pseudonym", flat=True))


def _raters(study: Study) -> list[str]:
    """The exported names of all annotators whose answers count."""
    return sorted(exported_id(study.export_key, name) for name in _counted_pseudonyms(study))


def _check_size(study: Study, raters: list[str], *, cells: int) -> None:
    items = len(item_keys(study))
    if items * cells > MAX_CELLS:
        raise ExportError(
            f"A matrix of {items:,} items and {len(raters):,} people would have "
            f"{items * cells:,} cells; the limit is {MAX_CELLS:,}. Export annotations instead, "
            "with one row per answer."
        )


def _variable(rater: str) -> str:
    """A name that R and SPSS accept: letters, digits and underscores."""
    return rater.replace("-", "_")


def _run_column(run: Mapping[str, str]) -> str:
    """A descriptive name of a run, with “_certainty” at most 64 characters long (SPSS)."""
    judge, setting, features = (
        re.sub(r"[^A-Za-z0-9]+", "_", run[name]).strip("_")[:most]
        for name, most in (("judge", 22), ("setting", 10), ("features", 9))
    )
    return "_".join(("J", judge, setting, features, run["key"][:8]))


def _described(run: Mapping[str, str]) -> str:
    own = [f"wording {run['wording']}"] if run["wording"] else []
    parts = [run["setting"], f"features {run['features']}", *own, f"framing {run['framing']}"]
    return ", ".join((run["judge"], *parts, f"orders {run['orders']}"))


_CHUNK = 500


def mt_bench_rows(study: Study) -> Iterator[dict[str, Any]]:
    """One row per answer or judgment, in the MT-bench format.

    `model_a` is the response on side A, or response 1 if the order is unknown. Judgments without an
    answer are left out.
    """
    judgments = (
        row for row in judgment_table(study) if row["choice"] and row["bias_probe"] is None
    )
    rows = chain(counted_answers(study), judgments)
    while chunk := list(islice(rows, _CHUNK)):
        keys = {row["item_id"] for row in chunk}
        items = {item.key: item for item in item_texts(study, keys)}
        for row in chunk:
            yield _comparison(items[row["item_id"]], row)


def _comparison(item: ItemTexts, row: dict[str, Any]) -> dict[str, Any]:
    first = row["shown_first"] or "r1"
    second = "r2" if first == "r1" else "r1"
    winner = {first: "model_a", second: "model_b", "tie": "tie"}[row["choice"]]
    return {
        "question_id": item.key,
        "model_a": _maker(item, first),
        "model_b": _maker(item, second),
        "winner": winner,
        "judge": row["rater_id"],
        "judge_kind": row["rater_kind"],
        "conversation_a": _conversation(item, first),
        "conversation_b": _conversation(item, second),
        "turn": 1,
        "persona": item.profile,
        "certainty": row["certainty"],
    }


def _maker(item: ItemTexts, side: str) -> str:
    """The model that wrote a response, or the response's name if unknown."""
    maker = item.responses[side].get("generated_by") or {}
    return maker.get("name") or str(side)


def _conversation(item: ItemTexts, side: str) -> list[dict[str, str]]:
    response = item.responses[side]
    asked = "\n\n".join(filter(None, [item.context, response.get("prompt") or item.question]))
    return [
        {"role": "user", "content": asked},
        {"role": "assistant", "content": response["text"]},
    ]


MT_BENCH = ExportTable(
    "mt-bench",
    ("jsonl",),
    "Pairwise comparisons: in the format of MT-bench",
    lambda study, _: ExportTableFile("mt-bench", (), lambda: mt_bench_rows(study)),
    has_texts=True,
    bundled="mt_bench.jsonl",
    counts=("annotations", "judgments"),
)
WIDE = ExportTable(
    "wide",
    ("csv", "xlsx"),
    "Wide table: one row per item, one column per annotator, for R and SPSS",
    lambda study, _: wide_table(study),
    bundled="wide.csv",
    explained="wide_columns.csv",
)
RELIABILITY = ExportTable(
    "reliability",
    ("csv", "xlsx"),
    "Reliability matrix: one row per annotator, one column per item",
    lambda study, _: reliability_matrix(study),
    bundled="reliability.csv",
)
