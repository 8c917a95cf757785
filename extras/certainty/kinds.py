"""Native, log-probability, sampled, stated and human certainty, computed on the same items.

Kinds are never pooled: each judge has a row for each kind that it has.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.data.arrays import MISSING, Dataset, Floats, RunData
from analysis.data.verdicts import (
    Ints,
    Verdicts,
    is_native,
    log_probability_certainty,
    mean_of_orders,
    native_certainty,
)
from analysis.report.report_json import Json, cell, estimate, put, put_estimate
from analysis.report.sentences import MAJORITY
from analysis.report.study import ReportedStudy
from analysis.stats.certainty.calibration import calibration_error
from analysis.stats.certainty.human_llm import general_spearman
from analysis.stats.core.proportions import wilson_proportion
from analysis.stats.core.results import BoolArray
from analysis.stats.core.shared_variance import Sharing
from extras.certainty.stats import (
    TrustedCoverage,
    coverage_steps,
    general_quality,
    trusted_coverage,
)

HUMAN = "human"
KINDS = ("native", "log_probability", "sampled", "stated", HUMAN)
# Shares of errors at which answers may be accepted without a person.
ERRORS = (0.05, 0.1, 0.2)
TRUTH = "truth"
DIGITS = 9


@dataclass(frozen=True, eq=False)
class OneCertainty:
    """A kind of certainty of one rater; `who` is the majority, or the place of a run.

    `correct` is -1 where nothing is known, and everywhere for people who are the reference.
    """

    kind: str
    who: str
    certainty: Floats
    correct: Ints
    known: BoolArray


def certainties(study: ReportedStudy, reference: str) -> Iterator[OneCertainty]:
    """Every kind of every run that saw the whole persona, and that of the majority of people."""
    for place in study.whole_runs:
        run, judge = study.data.runs[place], study.judges[place]
        correct = _against(study, judge, reference)
        for kind, values in _of_run(study, run, judge):
            known = (correct >= 0) & ~np.isnan(values)
            if known.any():
                # Means of the same numbers in another order differ in the last digit.
                values = values.round(DIGITS)
                yield OneCertainty(kind, f"judges.{place}", values, correct, known)
    people = study.people
    is_reference = reference == MAJORITY
    correct = np.full(people.answer.size, MISSING) if is_reference else people.correct
    known = (people.answer >= 0) & ((correct >= 0) | is_reference) & ~np.isnan(people.certainty)
    if known.any():
        yield OneCertainty(HUMAN, MAJORITY, people.certainty, correct, known)


def sampled_certainty(data: Dataset, run: RunData, verdicts: Verdicts) -> Floats:
    """The share, in percent, of an item's samples in one order that gave the verdict.

    Only of orders that were sampled twice or more; the mean over the orders. Judges of a jury are
    no samples.
    """
    rows = run.judgments
    valid = (rows.choice >= 0) & (verdicts.answer[rows.item] >= 0) & (not run.is_jury)
    item, first = rows.item[valid], rows.shown_first[valid]
    agree = (rows.choice[valid] == verdicts.answer[item]).astype(np.float64)
    return mean_of_orders(agree, item, first, len(data.items), fewest=2)


def _of_run(study: ReportedStudy, run: RunData, judge: Verdicts) -> Iterator[tuple[str, Floats]]:
    yield "native", native_certainty(study.data, run, judge)
    yield "log_probability", log_probability_certainty(study.data, run, judge)
    yield "sampled", sampled_certainty(study.data, run, judge)
    yield "stated", judge.certainty


def _against(study: ReportedStudy, judge: Verdicts, reference: str) -> Ints:
    """1 right, 0 wrong: against the truth, or against the majority of people."""
    if reference == TRUTH:
        return judge.correct
    people = study.people.answer
    both = (judge.answer >= 0) & (people >= 0)
    return np.where(both, judge.answer == people, MISSING).astype(np.int64)


def on_same_items(known: Sequence[BoolArray]) -> tuple[list[int], BoolArray]:
    """The rows that are compared, and the items that all of them have.

    While fewer than half of the largest row's items are common, the row goes whose absence leaves
    most of them. What is right or wrong does not matter.
    """
    kept = list(range(len(known)))
    most = max((int(row.sum()) for row in known), default=0)

    def common(rows: Sequence[int]) -> BoolArray:
        return np.asarray(np.logical_and.reduce([known[row] for row in rows]), dtype=np.bool_)

    while len(kept) > 1 and common(kept).sum() < most / 2:
        gone = max(kept, key=lambda row: common([other for other in kept if other != row]).sum())
        kept.remove(gone)
    return kept, common(kept) if kept else np.zeros(0, dtype=np.bool_)


def certainty_kinds(study: ReportedStudy) -> Json:
    """The entry of report.json."""
    has_truth = any((side.correct >= 0).any() for side in (study.people, *study.judges))
    reference = TRUTH if has_truth else MAJORITY
    kinds = sorted(certainties(study, reference), key=lambda one: KINDS.index(one.kind))
    kept, items = on_same_items([one.known for one in kinds])
    rows = np.flatnonzero(items)
    shared = study.shared
    with_people = shared.items.take(rows)
    # Who answered matters to whatever people decide.
    judged = shared.judged.take(rows) if has_truth else with_people
    counted = [place for place in kept if reference == TRUTH or kinds[place].kind != HUMAN]
    out: Json = {"reference": reference, "items": int(rows.size), "rows": [], "not_compared": []}
    for place, one in enumerate(kinds):
        named: Json = {"kind": one.kind, "who": one.who, "measured": int(one.known.sum())}
        if place in kept:
            certainty, correct = one.certainty[rows], one.correct[rows]
            sharing = with_people if one.kind == HUMAN else judged
            tests = max(1, len(ERRORS) * len(counted))
            entry = named | _quality(certainty, correct, sharing, tests=tests)
            if one.kind != HUMAN:
                people = study.people.certainty[rows]
                entry["with_people"] = estimate(general_spearman(certainty, people, with_people))
            out["rows"].append(entry)
        else:
            out["not_compared"].append(named)
    out["not_measured"] = list(_not_measured(study, kinds))
    return out


def _kinds(measured: Sequence[OneCertainty]) -> set[str]:
    return {one.kind for one in measured}


def _quality(certainty: Floats, correct: Ints, sharing: Sharing, *, tests: int) -> Json:
    scored = correct >= 0
    why = None if scored.any() else "is_reference"
    out: Json = cell(wilson_proportion(correct[scored]))
    calibration = calibration_error(certainty, correct)
    put(out, "ece", calibration.ece, why or calibration.reason)
    quality = general_quality(certainty, correct, sharing)
    for name in ("brier", "auroc", "aurc"):
        put_estimate(out, name, getattr(quality, name))
        if why:
            out[f"{name}_reason"] = out[f"{name}_ci_reason"] = why
    out["steps"] = _steps(certainty, correct)
    out["trusted"] = [
        _trusted(trusted_coverage(certainty, correct, sharing, error, tests=tests), why)
        for error in ERRORS
    ]
    return out


def _steps(certainty: Floats, correct: Ints) -> list[Json]:
    """Tenths of the answers, the most certain first: each alone, and with those before it."""
    steps, above = list[Json](), np.inf
    scored = correct >= 0
    for step in coverage_steps(certainty, correct):
        inside = scored & (certainty >= step.threshold) & (certainty < above)
        above = step.threshold
        entry: Json = {"from": step.threshold, "to": float(certainty[inside].max())}
        entry |= {"confidence": float(certainty[inside].mean() / 100)}
        entry |= cell(wilson_proportion(correct[inside]))
        entry |= {"accepted": step.n, "errors": step.errors}
        steps.append(entry | {"coverage": step.n / scored.sum(), "risk": step.errors / step.n})
    return steps


def _trusted(trusted_coverage: TrustedCoverage, why: str | None) -> Json:
    out: Json = {"error": trusted_coverage.max_error, "n": trusted_coverage.n}
    put(out, "p_max", trusted_coverage.p, why or trusted_coverage.reason)
    put(
        out,
        "observed",
        None if trusted_coverage.observed is None else trusted_coverage.observed.n,
        why or "none_reach",
    )
    out["tested"] = [
        {"threshold": step.threshold, "n": step.n, "errors": step.errors, "p_max": step.p}
        for step in trusted_coverage.tested
    ]
    return out


def _not_measured(study: ReportedStudy, measured: Sequence[OneCertainty]) -> Iterator[Json]:
    """Each kind that some judge could have and has not; native and human, if nobody has them."""
    there = {(one.kind, one.who) for one in measured}
    whole = [(f"judges.{place}", study.data.runs[place]) for place in study.whole_runs]
    asked = [who for who, run in whole if not (is_native(run) or run.is_jury)]
    for kind in KINDS:
        if kind in ("native", HUMAN):
            if kind not in _kinds(measured):
                yield {"kind": kind, "raters": []}
        elif lacking := [who for who in asked if (kind, who) not in there]:
            yield {"kind": kind, "raters": lacking}
        elif not asked:
            yield {"kind": kind, "raters": []}
