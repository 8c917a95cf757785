"""What lenient reading changed: each run with the replies that only it reads, and without them."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from analysis.data.arrays import RunData
from analysis.data.verdicts import Verdicts, run_verdicts
from analysis.report.encode import Json, number, put
from analysis.report.section import RUN, NumberSource, Report, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, table_of_entries
from analysis.report.text.names import run_names
from analysis.report.text.numbers import percent


def _side(verdicts: Verdicts, people: Verdicts) -> Json:
    """Accuracy, and agreement with the majority of annotators on the items that both decided."""
    n, correct = int(verdicts.scored.sum()), int((verdicts.correct == 1).sum())
    both = (verdicts.answer >= 0) & (people.answer >= 0)
    same = int((verdicts.answer == people.answer)[both].sum())
    out: Json = {"n": n, "correct": correct, "common_items": int(both.sum())}
    put(out, "accuracy", number(correct / n) if n else None, "empty_group")
    common = out["common_items"]
    put(out, "agreement", number(same / common) if common else None, "empty_group")
    return out


def _entry(study: ReportedStudy, run: RunData, verdicts: Verdicts) -> Json:
    if run.strictly is None:
        return {}
    strict = run_verdicts(study.data, replace(run, judgments=run.strictly))
    rows, only = run.judgments, run.strictly
    return {
        "reading": {
            "judgments": int((rows.choice >= 0).sum()),
            "leniently": int(((rows.choice >= 0) & (only.choice < 0)).sum()),
            "only_certainty": run.certainties_read_leniently,
            "codes": dict(run.read_leniently),
            "verdicts_changed": int(np.sum(verdicts.answer != strict.answer)),
            "lenient": _side(verdicts, study.people),
            "strict": _side(strict, study.people),
        }
    }


def _entries(report: Report) -> list[tuple[str, Report]]:
    named = zip(run_names(report), report["judges"], strict=True)
    return [(name, judge["reading"]) for name, judge in named if "reading" in judge]


def reading_table(report: Report) -> Table:
    entries = [
        (name, {**entry, "as": ", ".join(f"{code} {n:,}" for code, n in entry["codes"].items())})
        for name, entry in _entries(report)
    ]
    return table_of_entries(
        "reading",
        "What lenient reading changed",
        entries,
        [
            ("Answers", "count", "judgments"),
            ("read only leniently", "count", "leniently", "Answers"),
            ("certainty only", "count", "only_certainty", "Answers"),
            ("Read as", "text", "as"),
            ("Other verdicts", "count", "verdicts_changed", "Items"),
            ("lenient", "percent", "lenient.accuracy", "Accuracy"),
            ("strict", "percent", "strict.accuracy", "Accuracy"),
            ("lenient", "percent", "lenient.agreement", "Agreement with the majority"),
            ("strict", "percent", "strict.agreement", "Agreement with the majority"),
        ],
        "Only runs with replies that strict reading leaves out. Strict: these replies count as "
        "unanswered, and a certainty that was read leniently as missing. A run with strict "
        "reading would have asked again, so its answers could differ. Agreement: the items that "
        "both decided.",
        is_record=True,
    )


def reading_sentences(report: Report) -> Iterator[tuple[str, str]]:
    """One limit for each run that has answers which only lenient reading gives."""
    for name, entry in _entries(report):
        lenient, strict = entry["lenient"]["accuracy"], entry["strict"]["accuracy"]
        text = (
            f"{name}: {entry['leniently']:,} of {entry['judgments']:,} answers were read only "
            "leniently"
        )
        if not entry["leniently"]:
            text = f"{name}: {entry['only_certainty']:,} certainties were read only leniently"
        if lenient is None:
            yield "reading", f"{text}."
        elif strict is None:
            yield "reading", f"{text}. Without them, nothing is left to score."
        else:
            was = f"its accuracy is {percent(strict)} instead of {percent(lenient)}"
            yield "reading", f"{text}. Without them, {was}."


class ReadingSection(Section):
    """How replies were read, if any was read only leniently."""

    name = "reading"
    needs = ("accuracies",)
    sources = (NumberSource("judges.*.reading", "reading", RUN),)

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        runs = zip(study.data.runs, study.judges, strict=True)
        return {"judges": [_entry(study, run, verdicts) for run, verdicts in runs]}

    def tables(self, report: Report) -> Iterator[Table]:
        yield reading_table(report)
