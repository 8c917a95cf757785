"""Thresholds from which a judge's certainty, or another signal, can be trusted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.data.arrays import Dataset
from analysis.data.verdicts import Ints, Verdicts
from analysis.report.figures import Figure, plain, scatter_trace, styles
from analysis.report.quantities import clause, fixed
from analysis.report.report_json import Json, cell, put
from analysis.report.rules import TARGET
from analysis.report.section import Analysis, ReportJson, Section, Sentence
from analysis.report.sections.certainty.calibration import calibration
from analysis.report.study import ReportedStudy, SharedClusters, identity
from analysis.report.tables import Table, TableColumn
from analysis.report.words import percent, reason, run_names, whole_runs
from analysis.stats.certainty.risk_coverage import accuracy_at_coverage
from analysis.stats.comparison.sample_sizes import fewest_items
from analysis.stats.core.proportions import wilson_proportion
from analysis.stats.core.results import BoolArray
from extras.certificates.signals import SIGNALS
from extras.certificates.stats.certified_thresholds import (
    GRID,
    certify_threshold,
    one_per_cluster,
    starting_threshold,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Probability that any certificate of a report is wrong, over all of its runs.
DELTA = 0.1
NONE = "No threshold is certified"


# Number of answers that the first tested threshold should accept.
FEWEST_AT_START = 30


def selective(
    data: Dataset, judges: Sequence[Verdicts], shared: SharedClusters, *, threshold: float
) -> list[Json]:
    """One entry per run; `threshold` is the one at which the report splits high and low.

    Certificates do not depend on it, so a reader can try other thresholds.
    """
    # Runs without any certainty are not candidates.
    n_judges = max(1, sum(bool(_stated(verdicts).any()) for verdicts in judges))
    draws = Draws(data, shared)
    return [
        identity(run) | certificate(verdicts, draws, threshold, n_judges=n_judges)
        for run, verdicts in zip(data.runs, judges, strict=True)
    ]


class Draws:
    """Draws of items that share neither a persona nor a question.

    A draw depends only on the items' keys, never on whether an answer is right. Runs with the same
    usable items share it.
    """

    def __init__(self, data: Dataset, shared: SharedClusters) -> None:
        self._keys = np.array([item.key for item in data.items], dtype=object)
        asked = np.array([bool(item.question) for item in data.items], dtype=np.bool_)
        self.persona = shared.persona
        # Items without a question share none, so each gets a code below 0.
        self.question = np.where(asked, shared.question, -1 - np.arange(len(data.items)))
        self._drawn: dict[bytes, Ints] = {}

    def among(self, usable: Ints) -> Ints:
        """The drawn items among `usable`, by position."""
        which = usable.tobytes()
        if which not in self._drawn:
            clusters = [self.persona[usable], self.question[usable]]
            chosen = one_per_cluster(self._keys[usable].tolist(), clusters)
            self._drawn[which] = usable[chosen]
        return self._drawn[which]


def certificate(verdicts: Verdicts, draws: Draws, threshold: float, *, n_judges: int) -> Json:
    """The certified threshold of a run's certainty, one of `n_judges` that are tested together."""
    stated = _stated(verdicts)
    usable = np.flatnonzero(stated)
    drawn = draws.among(usable)
    max_error = round(1 - TARGET, 12)
    start = starting_threshold(verdicts.certainty, drawn.size, min_n=FEWEST_AT_START)
    chosen = certify_threshold(
        verdicts.certainty[drawn],
        verdicts.correct[drawn],
        max_error=max_error,
        clusters=[draws.persona[drawn], draws.question[drawn]],
        delta=DELTA,
        n_judges=n_judges,
        start=start,
    )
    out: Json = {"target": TARGET}
    put(out, "threshold", chosen.threshold, chosen.reason)
    accepted = stated & (
        verdicts.certainty >= (np.inf if chosen.threshold is None else chosen.threshold)
    )
    # If nothing is certified, no answer is accepted.
    coverage = float(accepted.sum() / usable.size) if usable.size else None
    put(out, "coverage", coverage)
    out |= cell(wilson_proportion(verdicts.correct[accepted]))
    if chosen.threshold is None:
        out |= {"guarantee": "none", "guarantee_reason": chosen.reason}
    else:
        out["guarantee"] = (
            f"With {1 - DELTA:.0%} confidence, for all runs of this report together, at least "
            f"{TARGET:.0%} of the answers with certainty {chosen.threshold:.0f} or more are right, "
            "counting every item equally, on new items drawn like these, each with a persona and a "
            "question of its own."
        )
    out["certificate"] = {
        "method": "fixed-sequence testing",
        "max_error": max_error,
        "delta": DELTA,
        "judges": n_judges,
        "grid": [GRID[0], GRID[-1]],
        "items": chosen.n,
        "fewest": fewest_items(max_error, DELTA / n_judges),
        "accepted": cell(chosen.accepted),
        "tested": [
            {"threshold": step.threshold, "n": step.n, "errors": step.errors, "p": step.p}
            for step in chosen.tested
        ],
    }
    put(out["certificate"], "start", start, "too_few_items" if usable.size else "empty_group")
    high = stated & (verdicts.certainty >= threshold)
    out["uncertified"] = {"threshold": float(threshold)}
    put(out["uncertified"], "coverage", float(high.sum() / usable.size) if usable.size else None)
    out["uncertified"] |= cell(wilson_proportion(verdicts.correct[high]))
    return out


def _stated(verdicts: Verdicts) -> BoolArray:
    """Items on which the run gave a certainty and can be right or wrong."""
    return np.asarray(verdicts.scored & ~np.isnan(verdicts.certainty), dtype=np.bool_)


def certified(report: ReportJson) -> Table:
    rows = []
    for name, entry in zip(run_names(report), report["selective"], strict=True):
        certificate = entry["certificate"]
        if not certificate["items"]:
            continue
        tested = certificate["tested"]
        rows.append(
            [
                name,
                "none" if entry["threshold"] is None else f"{entry['threshold']:.0f}",
                entry["coverage"],
                entry,
                certificate["items"],
                tested[-1]["n"] if tested else None,
                tested[-1]["errors"] if tested else None,
                tested[-1]["p"] if tested else None,
                reason(entry["threshold_reason"]) if entry["threshold"] is None else "",
            ]
        )
    columns = (
        TableColumn("Run"),
        TableColumn("Certified from"),
        TableColumn("Coverage", "percent", "Over all items"),
        TableColumn("right", "share", "Over all items"),
        TableColumn("Items tested", "count"),
        TableColumn("accepted", "count", "Last test"),
        TableColumn("wrong", "count", "Last test"),
        TableColumn("p", "p", "Last test"),
        TableColumn("Why none"),
    )
    first = report["selective"][0] if report["selective"] else None
    return Table(
        "certified",
        "Certified certainty from which the judge may be trusted",
        columns,
        rows,
        "" if first is None else _certificate_note(first),
    )


def _certificate_note(first: Mapping[str, Any]) -> str:
    rule = first["certificate"]
    return (
        f"Certified: with {_share(1 - rule['delta'])} confidence, over all runs together, at "
        f"least {_share(first['target'])} of the answers that the threshold accepts are right on "
        "new items drawn like these. Items that share a persona or a question are correlated, so "
        "at most one item of each is tested, drawn with equal chances; the others count only in "
        "coverage and accuracy, whose interval is not a certificate. Thresholds are tested from "
        "strict to lenient until one fails; p must be at most "
        f"{rule['delta'] / rule['judges']:.3g}, which takes at least {rule['fewest']} accepted "
        "answers. If none is certified, trust no answer on its certainty alone."
    )


def _share(value: float) -> str:
    return f"{value * 100:g} %"


def _limit(report: ReportJson) -> str:
    entries = zip(run_names(report), report["selective"], strict=True)
    names = [name for name, entry in entries if entry["threshold"] is not None]
    if not names:
        return f"{NONE}, so no accuracy is guaranteed for items outside this study."
    return (
        f"A threshold is certified for {', '.join(names)} alone, and for items drawn like these; "
        "nothing else is guaranteed for items outside this study."
    )


def _stars(report: ReportJson) -> "list[go.Scatter]":
    """Stars at the runs' certified thresholds, which stay when a reader tries another one."""
    names, drawn = run_names(report), styles(report)
    return [
        scatter_trace(
            x=[entry["coverage"]],
            y=[entry["accuracy"]],
            name=plain(names[index]),
            meta="certified",
            mode="markers",
            marker={
                "color": drawn[index][0],
                "symbol": "star",
                "size": 16,
                "line": {"color": "#0b0c0c", "width": 1.5},
            },
            showlegend=False,
            hovertemplate=f"{plain(names[index])}, certified from {entry['threshold']:.0f}: "
            "%{y:.1%} of %{x:.1%}<extra></extra>",
        )
        for index, entry in _with_threshold(report)
    ]


def _words(report: ReportJson) -> str:
    """The certified thresholds as text, for screen readers."""
    names = run_names(report)
    stars = [
        f"{names[index]} from {entry['threshold']:.0f}, {percent(entry['accuracy'])} at "
        f"{percent(entry['coverage'])}"
        for index, entry in _with_threshold(report)
    ]
    return f"Certified: {'; '.join(stars)}." if stars else f"{NONE}."


def _with_threshold(report: ReportJson) -> list[tuple[int, ReportJson]]:
    entries = [(index, report["selective"][index]) for index in whole_runs(report)]
    return [(index, entry) for index, entry in entries if entry["threshold"] is not None]


class Certified(Section):
    """Certified thresholds of every run."""

    name = "certified"
    analyses = (Analysis("calibration", tables=("certified",), paths=("selective",)),)
    shows = ("certified",)
    redraws = "risk_coverage"
    keys = """
selective | list or object | A certified threshold for each run.
selective.wording | text | Name and version of the run's own wording.
guarantee | text | What is guaranteed, as a sentence.
certificate | object | The steps of the certification.
certificate.tested | list | Thresholds that were tested, strictest first.
max_error | share | Largest share of wrong answers that is allowed.
delta | probability | Probability that a certificate is wrong, at most.
certificate.judges | count | Runs among which the probability is divided.
grid | list | Thresholds that could be tested.
fewest | count | Fewest answers from which a certificate is possible.
start | certainty | Threshold with which the tests begin.
accepted | object | What the certified threshold accepts.
uncertified | object | What the report's own threshold accepts, without a guarantee.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        entries = selective(study.data, study.judges, study.shared, threshold=study.threshold)
        return {"selective": entries}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield certified(report)

    def redraw(self, figure: Figure, report: ReportJson) -> Figure:
        """Mark certified thresholds in the figure of accuracy by coverage."""
        import plotly.graph_objects as go  # only who draws waits for it

        (drawn,), stars, words = figure.panels, _stars(report), _words(report)
        before = drawn.marks["alt"] if drawn.marks else ""
        alt = f"{before} {words}"
        drawn = replace(
            drawn,
            alt=drawn.alt.replace(before, alt, 1),
            drawing=go.Figure(drawn.drawing).add_traces(stars),
            marks={**(drawn.marks or {}), "alt": alt},
        )
        also = "Stars are at a certified one." if stars else f"{NONE}."
        caption = clause("{caption} {also}", caption=figure.caption, also=fixed(also))
        return replace(figure, panels=[drawn], caption=caption)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        yield Sentence.of("limit", _limit(report), "certified")


COVERAGES = (25, 50, 75)


def signals(study: ReportedStudy) -> list[Json]:
    """One entry per run: its signals that differ between answers, by name."""
    signals_of_runs = [
        {
            signal.name: replace(verdicts, certainty=values)
            for signal in SIGNALS
            if _varies(values := signal.values(study.data, run, verdicts), verdicts)
        }
        for run, verdicts in zip(study.data.runs, study.judges, strict=True)
    ]
    tested, draws = sum(map(len, signals_of_runs)), Draws(study.data, study.shared)
    return [
        {name: _entry(study, verdicts, draws, tested=tested) for name, verdicts in run.items()}
        for run in signals_of_runs
    ]


def _varies(values: Any, verdicts: Verdicts) -> bool:
    """Whether a signal differs between answers."""
    known = values[verdicts.scored & ~np.isnan(values)]
    return bool(known.size and known.min() < known.max())


def _entry(study: ReportedStudy, verdicts: Verdicts, draws: Draws, *, tested: int) -> Json:
    selective = certificate(verdicts, draws, study.threshold, n_judges=tested)
    out: Json = {"calibration": calibration(verdicts.certainty, verdicts.correct)}
    for share in COVERAGES:
        right = accuracy_at_coverage(verdicts.certainty, verdicts.correct, share / 100)
        put(out, f"right_at_{share}", right)
    return out | {"selective": selective}


def signal_table(report: ReportJson) -> Table:
    labels = {signal.name: signal.label for signal in SIGNALS}
    rows = []
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        for key, entry in judge.get("signals", {}).items():
            certified = entry["selective"]
            rows.append(
                [name, labels[key], entry["calibration"]["n"], entry["calibration"]["auroc"]]
                + [entry[f"right_at_{share}"] for share in COVERAGES]
                + ["none" if certified["threshold"] is None else f"{certified['threshold']:.0f}"]
                + [certified["coverage"], certified]
            )
    columns = (
        TableColumn("Run"),
        TableColumn("Certainty as"),
        TableColumn("n", "count"),
        TableColumn("AUROC", "decimal"),
        *(
            TableColumn(f"{share} %", "percent", "Right among the most certain")
            for share in COVERAGES
        ),
        TableColumn("from", "text", "Certified"),
        TableColumn("coverage", "percent", "Certified"),
        TableColumn("right", "share", "Certified"),
    )
    return Table(
        "signals",
        "Other signals of certainty as thresholds",
        columns,
        rows,
        "Only signals that differ between answers. Equal certainties count with their mean. "
        f"Certified: with {1 - DELTA:.0%} confidence over all rows of this table together, "
        "separately from the certificates of stated certainty.",
    )


class Signals(Section):
    """Calibration and thresholds of every signal that a run has."""

    name = "signals"
    analyses = (Analysis("calibration", tables=("signals",), paths=("judges.*.signals",)),)
    shows = ("signals",)
    keys = """
signals | object | How well other signals separate right from wrong answers.
signals.native | object | The native probability of the answer as a signal.
signals.probabilities | object | The probability of the answer as a signal.
signals.agreement | object | Agreement of the readings as a signal.
signals.orders | object | Agreement in the less favourable order as a signal.
right_at_25 | share | Accuracy of the most certain quarter.
right_at_50 | share | Accuracy of the most certain half.
right_at_75 | share | Accuracy of the most certain three quarters.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {"judges": [{"signals": signal} if signal else {} for signal in signals(study)]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield signal_table(report)


CERTIFIED = Certified()
SIGNALS_SHOWN = Signals()
