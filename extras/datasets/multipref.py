"""MultiPref (Miranda et al. 2024): four people per item say which of two responses is better."""

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

from extras.datasets.pairs import REMEDY, is_usable, pair, text_of
from studies.importers.files.faults import ImportRow
from studies.importers.sets.data_set import (
    ALL,
    DataSet,
    Files,
    Option,
    Raw,
    RawAnswer,
    Role,
    Tally,
    chosen,
    for_id,
    json_rows,
)
from studies.importers.sets.prism import family

_CHOICES = {
    "A-is-clearly-better": "r1",
    "A-is-slightly-better": "r1",
    "Tie": "tie",
    "B-is-slightly-better": "r2",
    "B-is-clearly-better": "r2",
}
# The file has words; they become midpoints of equal parts of the scale from 1 to 100.
_CERTAINTIES = {
    "absolutely-confident": 88,
    "fairly-confident": 63,
    "somewhat-confident": 38,
    "not-confident": 13,
}
_GROUPS = {"normal": "normal_worker_annotations", "expert": "expert_worker_annotations"}


def _key(raw: Mapping[str, Any]) -> str:
    return f"multipref-{for_id(str(raw.get('comparison_id')))}"


def _read(files: Files, options: Mapping[str, Any], seed: int, tally: Tally) -> Iterator[Raw]:
    part = files.need("comparisons")
    for line, raw in json_rows(part, tally):
        row = ImportRow(line, part.name)
        names = ("comparison_id", "prompt_id", "text", "completion_a", "completion_b")
        texts = {name: text_of(row, raw, name) for name in names}
        tally.faults += row.faults
        if row.faults:
            continue
        if not chosen(options["sources"], str(raw.get("source"))):
            tally.drop("comparisons of another source")
            continue
        responses = [texts["completion_a"], texts["completion_b"]]
        if is_usable(texts["text"], "", responses, tally):
            models = [_model(raw.get(name)) for name in ("model_a", "model_b")]
            yield (
                part.name,
                line,
                pair(
                    key=_key(raw),
                    first={"text": responses[0], "generated_by": models[0]},
                    second={"text": responses[1], "generated_by": models[1]},
                    label=None,
                    question=texts["text"],
                    group=texts["prompt_id"][:120],
                    topic=str(raw.get("category") or "")[:120],
                    language="en",
                    metadata={"source": raw.get("source"), "subject": raw.get("subject_study")},
                ),
            )


def _model(name: Any) -> dict[str, Any]:
    if not isinstance(name, str) or not name:
        return {"kind": "unknown", "name": None}
    return {"kind": "model", "name": name, "family": family(name)}


def _answers(files: Files, tally: Tally) -> Iterator[RawAnswer]:
    part = files.need("comparisons")
    for line, raw in json_rows(part, tally):
        for group, column in _GROUPS.items():
            for judgment in raw.get(column) or []:
                row = ImportRow(line, part.name)
                answer = _answer(row, group, _key(raw), judgment)
                tally.faults += row.faults
                if answer is not None:
                    yield line, answer


def _answer(row: ImportRow, group: str, key: str, judgment: Any) -> dict[str, Any] | None:
    if not isinstance(judgment, dict) or not isinstance(judgment.get("evaluator"), str):
        problem = f"an annotation of the group {group} has no evaluator."
        row.fault(group, "not an annotation", problem, REMEDY)
        return None
    choice = row.one_of(judgment, "overall_pref", tuple(_CHOICES))
    stated = row.one_of(judgment, "overall_confidence", tuple(_CERTAINTIES))
    if not choice:
        return None
    is_tie = _CHOICES[choice] == "tie"
    seconds = judgment.get("time_spent")
    return {
        "rater_id": f"{group}-{for_id(judgment['evaluator'])}"[:120],
        "item_id": key,
        "choice": _CHOICES[choice],
        "certainty": None if is_tie or not stated else _CERTAINTIES[stated],
        "active_ms": int(seconds * 1000) if isinstance(seconds, int | float) else None,
        "answered_at": _time(judgment.get("timestamp")),
    }


def _time(value: Any) -> str | None:
    """A time from the file, read as UTC because it has no zone."""
    try:
        return dt.datetime.fromisoformat(str(value)).isoformat() if value else None
    except ValueError:
        return None


MULTIPREF = DataSet(
    name="multipref",
    title="MultiPref",
    about="Pairs of responses, each compared by two crowd workers and two experts.",
    task="preference",
    files="MultiPref-Train.jsonl, or the Parquet file of the hub",
    source={
        "name": "MultiPref",
        "url": "https://huggingface.co/datasets/allenai/multipref",
        "licence": "ODC-BY-1.0",
        "licence_url": "https://opendatacommons.org/licenses/by/1-0/",
        "citation": "Miranda et al. 2024, Hybrid Preferences",
        "redistribution": "allowed",
    },
    roles=(
        Role(
            "comparisons",
            (
                "comparison_id",
                "prompt_id",
                "text",
                "completion_a",
                "completion_b",
                *_GROUPS.values(),
            ),
            "a row for each pair of responses (MultiPref-Train.jsonl)",
            is_mark=True,
        ),
    ),
    options=(Option("sources", ALL, "Sources of the prompts."),),
    read=_read,
    answers=_answers,
)
