"""Every item: its truth, its votes, and the verdict of each side."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import CHOICES
from analysis.data.verdicts import Verdicts
from analysis.report.encode import Json, put
from analysis.report.section import Report, Section, Source
from analysis.report.study import Study
from analysis.report.tables import Column, Table
from analysis.report.text.names import run_names


def _items(study: Study) -> list[Json]:
    """One row per item: the truth, the annotators' votes, the verdict of each run."""
    data, people, judges = study.data, study.people, study.judges
    counts = people.majority.counts
    # Read once, because the property is computed each time.
    undecided = [side.majority.undecided for side in (people, *judges)]
    rows = []
    for index, item in enumerate(data.items):
        row: Json = {"item": item.key, "topic": item.topic, "persona": item.persona}
        row["question"] = item.question
        put(row, "truth", item.truth or None, "no_truth")
        row["votes"] = {
            name: int(counts[index, code]) for code, name in enumerate(CHOICES[: counts.shape[1]])
        }
        row["people"] = _verdict(people, undecided[0], index)
        row["judges"] = [
            _verdict(verdicts, ties, index)
            for verdicts, ties in zip(judges, undecided[1:], strict=True)
        ]
        rows.append(row)
    return rows


def _verdict(verdicts: Verdicts, undecided: npt.NDArray[np.bool_], index: int) -> Json:
    answer, certainty = int(verdicts.answer[index]), float(verdicts.certainty[index])
    correct = int(verdicts.correct[index])
    missing = "tie" if undecided[index] else "no_votes"
    out: Json = {}
    put(out, "choice", CHOICES[answer] if answer >= 0 else None, missing)
    put(out, "certainty", None if np.isnan(certainty) else certainty, "not_stated")
    put(out, "correct", None if correct < 0 else bool(correct), "not_scored")
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
        Column("Item"),
        Column("Topic"),
        Column("Question"),
        Column("Truth"),
        Column("Votes"),
    ]
    for who in ("People", *run_names(report)):
        columns += [Column("choice", "text", who), Column("certainty", "number", who)]
    return Table("items", "Every item", tuple(columns), rows, is_record=True)


class Items(Section):
    """Every item, one by one."""

    name = "items_one_by_one"
    sources = (Source("inputs", "items"),)

    def compute(self, study: Study, earlier: Report) -> Json:
        return {"items": _items(study)}

    def tables(self, report: Report) -> Iterator[Table]:
        yield items(report)
