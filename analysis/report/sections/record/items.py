"""Every item: its truth, its votes, and the verdict of each side."""

from collections.abc import Iterator
from functools import cache
from itertools import repeat

import numpy as np

from analysis.data.arrays import CHOICES
from analysis.data.verdicts import Verdicts
from analysis.report.encode import Json, put
from analysis.report.section import NumberSource, Report, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.text.names import run_names


def _items(study: ReportedStudy) -> list[Json]:
    """One row per item: the truth, the annotators' votes, the verdict of each run."""
    counts = study.people.majority.counts
    names = CHOICES[: counts.shape[1]]
    # Few different votes and verdicts occur, so that rows share them.
    tally = cache(lambda row: dict(zip(names, row, strict=True)))
    votes = map(tally, map(tuple, counts.tolist()))
    judges = zip(*map(_verdicts, study.judges), strict=True)
    rows = []
    for item, own, people, runs in zip(
        study.data.items,
        votes,
        _verdicts(study.people),
        judges if study.judges else repeat(()),
        strict=bool(study.judges),
    ):
        row: Json = {"item": item.key, "topic": item.topic, "persona": item.persona}
        row["question"] = item.question
        put(row, "truth", item.truth or None, "no_truth")
        row |= {"votes": own, "people": people, "judges": list(runs)}
        rows.append(row)
    return rows


def _verdicts(side: Verdicts) -> Iterator[Json]:
    """The verdict of a side on each item; equal ones are one object."""
    verdict = cache(_verdict)
    certainties = side.certainty.astype(object)
    certainties[np.isnan(side.certainty)] = None
    return map(
        verdict,
        side.answer.tolist(),
        certainties.tolist(),
        side.correct.tolist(),
        side.majority.undecided.tolist(),
    )


def _verdict(answer: int, certainty: float | None, correct: int, undecided: bool) -> Json:
    out: Json = {"choice": CHOICES[answer] if answer >= 0 else None}
    if answer < 0:
        out["choice_reason"] = "tie" if undecided else "no_votes"
    out["certainty"] = certainty
    if certainty is None:
        out["certainty_reason"] = "not_stated"
    out["correct"] = None if correct < 0 else correct == 1
    if correct < 0:
        out["correct_reason"] = "not_scored"
    return out


def items(report: Report) -> Table:
    rows = []
    for row in report["items"]:
        votes = " ".join(f"{key}:{count}" for key, count in row["votes"].items())
        line = [row["item"], row["topic"], row["question"], row["truth"], votes]
        for side in (row["people"], *row["judges"]):
            line += [side["choice"], side["certainty"]]
        rows.append(line)
    columns = [
        TableColumn("Item"),
        TableColumn("Topic"),
        TableColumn("Question"),
        TableColumn("Truth"),
        TableColumn("Votes"),
    ]
    for who in ("People", *run_names(report)):
        columns += [TableColumn("choice", "text", who), TableColumn("certainty", "number", who)]
    return Table("items", "Every item", tuple(columns), rows, is_record=True)


class ItemsSection(Section):
    """Every item, one by one."""

    name = "items_one_by_one"
    sources = (NumberSource("inputs", "items"),)

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return {"items": _items(study)}

    def tables(self, report: Report) -> Iterator[Table]:
        yield items(report)
