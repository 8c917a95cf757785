"""Certify a judge from a study's answers, or say how many labels that would need."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.data.arrays import Dataset, Floats, RunData
from analysis.data.dataset import load_dataset
from analysis.data.domain import domain_of
from analysis.data.item_texts import item_facts
from analysis.data.verdicts import Ints, run_verdicts
from analysis.errors import BadParameters
from analysis.passports import NoSuchJudge, Passport
from analysis.report.words import number_of
from analysis.stats.comparison.sample_sizes import fewest_items
from extras.certificates.choices import BY
from extras.certificates.signals import certifiable, score, truth_of
from extras.certificates.statistics import POWER, labels_needed
from extras.certificates.stats.certified_thresholds import (
    CertifiedThreshold,
    Weighting,
    certify_threshold,
    fewest_at_start,
    one_per_cluster,
    starting_threshold,
)
from judging.models import JudgeRun
from judging.runs.records import (
    judge_description,
    protocol_description,
    readings_of,
    reported_versions,
)
from studies.models.studies import Study
from studies.services.studies import record
from studies.statements import clock

_COUNTS = {"item": "counting every item equally", "persona": "counting every persona equally"}
_SIDES = ("r1", "r2", "tie")
_TARGETS = {"first_person": "the personas' own answers", "majority": "the annotators' majority"}


@dataclass(frozen=True, kw_only=True)
class CertificateWish:
    """What is to be certified.

    `by`: whether items or personas count equally in the share of errors; empty follows the design,
    as in `by_design`. `setting`, `features` and
    `run` select a run of the judge. `among`: the number of judges, signals or error levels that you
    choose from by their certificates. `redraw`: the number of earlier draws.
    """

    judge: str
    signal: str = "stated"
    target: str = "first_person"
    error: float = 0.1
    confidence: float = 0.9
    by: str = ""
    setting: str = ""
    features: str = ""
    run: str = ""
    among: int = 1
    anchors: int = 100
    redraw: int = 0

    @property
    def delta(self) -> float:
        """The chance that the certificate is wrong."""
        return round(1 - self.confidence, 12)

    def check(self) -> None:
        """Raise `BadParameters` if a number or the target is out of range."""
        if self.target not in _TARGETS:
            raise BadParameters(f"The target is “{self.target}”. Use one of {', '.join(_TARGETS)}.")
        if self.by not in ("", *BY):
            raise BadParameters(f"Errors are counted by “{self.by}”. Use {' or '.join(BY)}.")
        if self.redraw < 0:
            raise BadParameters(f"The redraw number is {self.redraw}. Use 0 or more.")
        for name in ("error", "confidence"):
            value = getattr(self, name)
            if not 0 < value < 1:
                raise BadParameters(f"The {name} is {value:g}. Use a number between 0 and 1.")
        if self.among < 1:
            raise BadParameters(f"The number to choose from is {self.among}. Use 1 or more.")
        if not 1 <= self.anchors <= 1000:
            raise BadParameters(f"The number of anchors is {self.anchors}. Use 1 to 1,000.")


@dataclass(frozen=True)
class CertificateOutcome:
    """The outcome: a passport, or how many labels one would need.

    `by` is what counts equally in the share of errors.
    `needed` is None if there is a passport or if no number of labels is enough.
    """

    found: CertifiedThreshold
    passport: Passport | None
    needed: int | None
    sentence: str
    by: str


def certify(study: Study, wish: CertificateWish) -> CertificateOutcome:
    """Certify a judge on the labelled items of a study.

    The seed that draws items without a common persona or question comes from the study's content,
    the judge and the signal, so nobody can choose the items. Raises `BadParameters` or
    `NoSuchJudge`.
    """
    wish.check()
    signal = certifiable(wish.signal)
    data = load_dataset(study.slug)
    run = run_of(study, data, wish)
    answer, certainty = signal.read(data, run, run_verdicts(data, run))
    truth = truth_of(data, run, wish.target)
    correct = score(answer, truth)
    seed = _seed(study, wish)
    usable = np.flatnonzero((correct >= 0) & ~np.isnan(certainty))
    is_chosen = bool(wish.by)
    wish = replace(wish, by=wish.by or by_design(data, usable))
    drawn = draw(data, usable, seed, wish.by)
    if wish.redraw:
        record(study, "certificate drawn again", judge=wish.judge, redraw=wish.redraw)
    threshold = certify_threshold(
        certainty[drawn],
        correct[drawn],
        max_error=wish.error,
        clusters=clusters_of(data, drawn),
        delta=wish.delta,
        n_judges=wish.among,
        start=starting_threshold(
            certainty, drawn.size, min_n=fewest_at_start(drawn.size), grid=signal.grid
        ),
        grid=signal.grid,
    )
    if threshold.threshold is None:
        needed = labels_needed(
            certainty[drawn],
            correct[drawn],
            max_error=wish.error,
            delta=wish.delta / wish.among,
            rng=np.random.default_rng(0),
            grid=signal.grid,
            at_least=drawn.size + 1,
        )
        refusal = _refusal(threshold, wish, needed, signal.label, usable.size)
        others = draw(data, usable, seed, "persona").size
        if others > drawn.size:
            refusal += (
                f" Counting by persona, where every persona counts equally, would draw {others:,} "
                f"items instead of {drawn.size:,}."
            )
        return CertificateOutcome(threshold, None, needed, refusal, wish.by)
    anchors = _anchors(data, drawn, seed, wish.anchors)
    content = _content(study, data, run, wish, threshold) | {"seed": seed}
    content["calibration"] = _calibration(certainty[drawn], correct[drawn])
    content["n_all"] = int(((answer >= 0) & ~np.isnan(certainty)).sum())
    content["anchors"] = _frozen(study, data, run, anchors, answer, certainty, truth)
    if not is_chosen:
        content["by_design"] = True
    content["guarantee"] = guarantee = _guarantee(content, signal.label)
    return CertificateOutcome(threshold, Passport(content), None, guarantee, wish.by)


def run_of(study: Study, data: Dataset, wish: CertificateWish) -> RunData:
    """The one run that a wish names. Raises `NoSuchJudge`, which lists the available runs."""
    named = [run for run in data.runs if run.judge == wish.judge]
    matching = [
        run
        for run in named
        if (not wish.setting or run.setting == wish.setting)
        and (not wish.features or run.features == wish.features)
        and (not wish.run or wish.run in _names(study, run))
    ]
    if len(matching) == 1:
        return matching[0]
    if not named:
        known = ", ".join(sorted({run.judge for run in data.runs})) or "none"
        raise NoSuchJudge(f"Study “{study.slug}” has no run of “{wish.judge}”. Judges: {known}.")
    listed = "; ".join(
        f"{_names(study, run)[0]} ({run.setting}, features {run.features})"
        for run in matching or named
    )
    count = f"{len(matching)} runs" if matching else "no such run"
    raise NoSuchJudge(
        f"“{wish.judge}” has {count} in “{study.slug}”. Choose one by its setting, its features or "
        f"its id: {listed}."
    )


def _names(study: Study, run: RunData) -> list[str]:
    return [*(row.public_id for row in runs_behind(study, run)), run.run]


def runs_behind(study: Study, run: RunData) -> list[JudgeRun]:
    """The stored runs of a judge, in order: one, or those of a jury."""
    keys = run.parameters["runs"] if run.is_jury else [run.run]
    rows = JudgeRun.objects.select_related("judge", "study", "wording")
    runs = {row.key: row for row in rows.filter(study=study, key__in=keys)}
    return [runs[key] for key in keys]


def _seed(study: Study, wish: CertificateWish) -> int:
    """A seed: the same for the same items, judge and signal in any study, but new for a redraw."""
    named = "|".join([study.content_hash, wish.judge, wish.signal, str(wish.redraw)])
    return int.from_bytes(hashlib.sha256(named.encode()).digest()[:6])


def by_design(data: Dataset, rows: Ints) -> str:
    """Count by item if each persona has as many of these items, otherwise by persona.

    With equal numbers both draw the same items. Otherwise a draw by item takes from a persona in
    proportion to its number of items, so that few are drawn.
    """
    numbers = Counter(data.items[row].persona for row in rows)
    return "item" if len(set(numbers.values())) <= 1 else "persona"


def draw(data: Dataset, rows: Ints, seed: int, by: str) -> Ints:
    """Pick from these items so that no two share a persona or a question."""
    keys = [data.items[row].key for row in rows]
    alike: Weighting = "cluster" if by == "persona" else "item"
    return rows[one_per_cluster(keys, clusters_of(data, rows), by=alike, seed=seed)]


def clusters_of(data: Dataset, rows: Ints) -> list[Ints]:
    """Codes of the items' personas and questions; an item without a question gets its own code."""
    codes: dict[tuple[str, str], int] = {}

    def code(kind: str, name: str) -> int:
        return codes.setdefault((kind, name), len(codes))

    items = [data.items[row] for row in rows]
    personas = [code("persona", item.persona) for item in items]
    questions = [
        code("question", item.question) if item.question else code("item", item.key)
        for item in items
    ]
    return [np.array(members, dtype=np.int64) for members in (personas, questions)]


def _anchors(data: Dataset, drawn: Ints, seed: int, most: int) -> list[int]:
    """Choose drawn items by hash, independently of their answers."""

    def rank(row: int) -> bytes:
        return hashlib.sha256(f"anchor|{seed}|{data.items[row].key}".encode()).digest()

    return sorted(sorted(map(int, drawn), key=rank)[:most])


def _content(
    study: Study, data: Dataset, run: RunData, wish: CertificateWish, threshold: CertifiedThreshold
) -> dict[str, Any]:
    runs = runs_behind(study, run)
    return {
        "made_on": clock.now().date().isoformat(),
        "study": {"slug": study.slug, "content_hash": study.content_hash},
        "jury": run.judge if run.is_jury else "",
        "judges": [
            judge_description(one) | {"run": one.key, "versions": reported_versions([one])}
            for one in runs
        ],
        "protocol": protocol_description(runs[0]),
        "signal": wish.signal,
        "target": wish.target,
        "error": wish.error,
        "confidence": wish.confidence,
        "among": wish.among,
        "threshold": threshold.threshold,
        "coverage": threshold.coverage,
        "accepted": {
            "n": threshold.accepted.n,
            "errors": threshold.accepted.n - threshold.accepted.correct,
        },
        "tested": [vars(step) for step in threshold.tested],
        "n": threshold.n,
        "by": wish.by,
        "redraw": wish.redraw,
        "domain": domain_of(data),
    }


def _calibration(certainty: Floats, correct: Ints) -> dict[str, list[float]]:
    """Count drawn items, and right answers, by certainty."""
    values, group = np.unique(certainty.round(6), return_inverse=True)
    return {
        "certainty": values.tolist(),
        "n": np.bincount(group).tolist(),
        "right": np.bincount(group, weights=correct).astype(int).tolist(),
    }


def _frozen(
    study: Study,
    data: Dataset,
    run: RunData,
    rows: Sequence[int],
    answer: Ints,
    certainty: Floats,
    truth: Ints,
) -> list[dict[str, Any]]:
    keys = [data.items[row].key for row in rows]
    facts = item_facts(study, keys)
    readings = [readings_of(one, keys) for one in runs_behind(study, run)]
    return [
        {
            "item": key,
            "content_hash": facts[key].content_hash,
            "right": _SIDES[truth[row]],
            "answer": _SIDES[answer[row]],
            "certainty": round(float(certainty[row]), 6),
            "readings": [of_judge[key] for of_judge in readings],
        }
        for key, row in zip(keys, rows, strict=True)
    ]


def _guarantee(content: dict[str, Any], label: str) -> str:
    chosen = "" if content["among"] == 1 else f", for the best of {content['among']} together,"
    own = (
        " with a persona and a question of its own"
        if content["target"] == "first_person"
        else " with a persona and a question of its own, and answered by these annotators"
    )
    return (
        f"With {percent(content['confidence'])} confidence{chosen} at most "
        f"{percent(content['error'])} of the answers whose {label} is "
        f"{content['threshold']:.0f} or more differ from {_TARGETS[content['target']]}, "
        f"{_COUNTS[content['by']]}, on new items drawn like these, each{own}."
        f"{_redrawn(content['redraw'])}"
    )


def _redrawn(redraw: int) -> str:
    if not redraw:
        return ""
    return (
        f" These items are redraw {redraw}. If you saw an earlier draw and discarded it, the "
        "true confidence is lower."
    )


def percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def _refusal(
    threshold: CertifiedThreshold,
    wish: CertificateWish,
    needed: int | None,
    label: str,
    labelled: int,
) -> str:
    wanted = (
        f"that at most {percent(wish.error)} of its accepted answers are wrong, "
        f"{_COUNTS[wish.by]}, with {percent(wish.confidence)} confidence"
    )
    if not threshold.n:
        return (
            f"Nothing is certified. No item has an answer of {wish.judge}, the signal “{label}” "
            f"and a label ({_TARGETS[wish.target]})."
        )
    tested = (
        f"At threshold {threshold.tested[0].threshold:.0f}, {threshold.tested[0].errors} of "
        f"{threshold.tested[0].n} accepted answers were wrong"
        if threshold.tested
        else "No threshold accepts 30 of them"
    )
    fewest = fewest_items(wish.error, wish.delta / wish.among)
    do, own = ("does", "its") if threshold.n == 1 else ("do", "their")
    are = "is" if fewest == 1 else "are"
    more = (
        "No number of labels would be enough: too many answers are wrong where the test would "
        "start. Allow a larger error, or use another signal or judge."
        if needed is None
        else f"About {needed:,} labelled items, each with a persona and a question of its own, "
        f"would be enough with a probability of {percent(POWER)} if errors and {label} stay as "
        "observed."
    )
    return (
        f"Nothing is certified: {number_of(threshold.n, 'item')} with a persona and a question of "
        f"{own} own, drawn from {number_of(labelled, 'labelled one')}, {do} not show {wanted}. "
        f"{tested}, and even without errors, {number_of(fewest, 'accepted answer')} {are} "
        f"needed. {more}{_redrawn(wish.redraw)}"
    )
