"""Few people, many judgments: estimates for all judged items from answers to some."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.data.arrays import TIE, Floats, RunData
from analysis.data.dataset import Draw
from analysis.data.verdicts import Ints, Verdicts, agreement_certainty, probability_certainty
from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    QuantityInterval,
    Slot,
    Words,
    clause,
    say,
)
from analysis.report.report_json import Json, estimate, put
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import run_name
from analysis.stats.systems.win_rates import margins
from extras.estimation.items import SystemsOfItems
from extras.estimation.stats.calibrated import CalibratedMean, calibrated_mean, weighted_mean
from extras.estimation.stats.prediction_powered import powered_mean
from extras.estimation.stats.scores import FEWEST, answers_saved

N_FOLDS = 10
MOSTLY = 0.9  # of a judge's answers have a certainty
PEOPLE, OWN = "people", "own"
WORDS = {PEOPLE: "the majority of annotators", OWN: "own answers"}
SAMPLE, BY_TOPIC, DRAWN = "sample", "topic", "drawn"


@dataclass(frozen=True, eq=False)
class Estimand:
    """A share of items: people's answers where they exist, the judge's answers everywhere.

    `target` is NaN where nobody answered, `signal` where the judge did not. `of` are the items of
    the share.
    """

    labels: Json
    target: Floats
    signal: Floats
    of: np.ndarray[Any, np.dtype[np.bool_]]
    by_people: bool

    @property
    def is_needed(self) -> bool:
        judged = self.of & ~np.isnan(self.signal)
        answered = judged & ~np.isnan(self.target)
        return bool(min(answered.sum(), judged.sum() - answered.sum()) >= FEWEST)


def _certainty(
    study: ReportedStudy, run: RunData, judge: Verdicts
) -> tuple[Floats | None, str | None]:
    """The first signal that most of a judge's answers have, as shares from 0 to 1."""
    decided = judge.answer >= 0
    for name, values in (
        ("certainty", judge.certainty),
        ("probabilities", probability_certainty(study.data, run, judge)),
        ("agreement", agreement_certainty(judge)),
    ):
        known = decided & ~np.isnan(values)
        if decided.any() and known.sum() >= MOSTLY * decided.sum():
            filled = np.where(known, values, values[known].mean()) / 100
            return np.where(decided, np.clip(filled, 0, 1), np.nan), name
    return None, None


def _estimands(
    study: ReportedStudy, judge: Verdicts, certainty: Floats | None
) -> Iterator[Estimand]:
    """Estimate how often the judge agrees with a reference, and how often each system wins."""
    decided = judge.answer >= 0
    everywhere = np.ones(decided.size, dtype=np.bool_)
    systems = study.data.of(SystemsOfItems)
    for name in (PEOPLE, OWN):
        target = _reference(study, name)
        known = decided & (target >= 0)
        by_people = name == PEOPLE
        if certainty is not None:
            tied = (judge.answer == TIE) ^ (target == TIE)
            same = np.where(tied, 0.5, judge.answer == target)
            agreed = np.where(known, same, np.nan)
            labels = {"what": "agreement", "against": name}
            yield Estimand(labels, agreed, certainty, everywhere, by_people)
        if systems is None:
            continue
        rows = np.arange(decided.size)
        judged, liked = margins(judge.answer, rows), margins(target, rows)
        surely = np.ones(decided.size) if certainty is None else np.maximum(certainty, 0.5)
        for code, system in enumerate(systems.names):
            # Other systems' contests serve the calibration, from the side of response 1.
            side = np.where(systems.second == code, -1.0, 1.0)
            won = np.where(known, 0.5 + side * liked / 2, np.nan)
            signal = np.where(decided, 0.5 + side * judged * (surely - 0.5), np.nan)
            of = (systems.first == code) | (systems.second == code)
            labels = {"what": "wins", "system": system, "against": name}
            yield Estimand(labels, won, signal, of, by_people)


def _reference(study: ReportedStudy, name: str) -> Ints:
    """The reference for each item: 0, 1, 2 (a tie or an undecided majority) or -1."""
    if name == OWN:
        return study.data.truth.astype(np.int64)
    majority = study.people.majority
    return np.where(majority.undecided, TIE, study.people.answer)


def _entry(study: ReportedStudy, estimand: Estimand) -> Json:
    shared = study.shared
    sharing = shared.items if estimand.by_people else shared.judged
    drawn = study.data.of(Draw)
    # The draw selects items for annotators; it does not decide which own answers are known.
    chance = drawn.probability if drawn is not None and estimand.by_people else None
    used = estimand.of & ~np.isnan(estimand.signal)
    if chance is not None:
        used &= ~np.isnan(chance)
    few_personas = np.unique(shared.persona).size < N_FOLDS
    folds = (np.arange(used.size) if few_personas else shared.persona) % N_FOLDS
    within = sharing.take(used)
    arrays = estimand.target[used], estimand.signal[used], within
    by_weight = weighted_mean(*arrays, probability=None if chance is None else chance[used])
    topics = None
    if drawn is not None and estimand.by_people:
        _, codes = np.unique([item.topic for item in study.data.items], return_inverse=True)
        topics = codes[used]
    if chance is None:
        mean = powered_mean(*arrays, strata=topics, folds=folds[used], rng=study.rng())
        alone, powered, weight = mean.alone, mean.powered, mean.weight
    else:
        alone, powered, weight = by_weight.alone, by_weight.powered, by_weight.weight
    calibrated = calibrated_mean(estimand.target, estimand.signal, sharing, folds=folds, of=used)
    out = estimand.labels | {"items": by_weight.n_items, "answered": by_weight.n_answered}
    out |= {"alone": estimate(alone), "powered": estimate(powered)}
    put(out, "weight", weight, "too_few_items")
    saved = answers_saved(by_weight.n_answered, alone, powered)
    put(out, "saved", saved, powered.interval_reason or alone.interval_reason)
    out["calibrated"] = _calibrated(calibrated)
    return out


def _calibrated(calibrated: CalibratedMean) -> Json:
    out = estimate(calibrated.mean)
    put(out, "outside", calibrated.outside, calibrated.reason)
    out["residual"] = estimate(calibrated.residual)
    put(out, "oracle_share", calibrated.oracle_share, calibrated.reason or "no_variation")
    return out


def _named(report: ReportJson) -> Iterator[tuple[str, ReportJson]]:
    for entry in report["judges"]:
        name = run_name(entry, report["judges"])
        for row in entry["estimates"]:
            yield name, {**row, "of": what(row)}


def what(entry: ReportJson) -> str:
    """The estimated share, in words."""
    if entry["what"] == "wins":
        return f"{entry['system']} wins by {WORDS[entry['against']]}"
    return f"Agrees with {WORDS[entry['against']]}"


def estimates_table(report: ReportJson) -> Table:
    how = {
        SAMPLE: "The items with answers count as a random sample of all judged items.",
        BY_TOPIC: "The items for annotators were drawn topic by topic and are weighted so.",
        DRAWN: (
            "The items for annotators were drawn with known probabilities; each answer weighs 1 "
            "divided by its probability."
        ),
    }
    return table_of_entries(
        "estimates",
        "Shares of all judged items, with and without the judge",
        list(_named(report)),
        [
            ("Share", "text", "of"),
            ("all", "count", "items", "Items"),
            ("answered", "count", "answered", "Items"),
            ("Estimate", "percent", "alone.value", "Answers alone"),
            ("95 % interval", "percent_range", "alone.ci", "Answers alone"),
            ("Estimate", "percent", "powered.value", "With the judge (PPI++)"),
            ("95 % interval", "percent_range", "powered.ci", "With the judge (PPI++)"),
            ("Weight", "decimal", "weight", "With the judge (PPI++)"),
            ("Answers saved", "number", "saved"),
        ],
        f"{how[report['drawn']]} A tie or an undecided majority counts half. The judge’s answers "
        "to all items make the estimate more precise and cannot bias it: their weight is 0 if "
        "they do not predict people’s. Answers saved: how many more answered items would give "
        "an equally narrow interval without the judge. Intervals are for items, people, "
        "personas and questions in general.",
        first="Judge",
    )


def calibrated_table(report: ReportJson) -> Table:
    return table_of_entries(
        "estimates_calibrated",
        "The same shares by the calibrated judge",
        list(_named(report)),
        [
            ("Share", "text", "of"),
            ("Estimate", "percent", "calibrated.value"),
            ("95 % interval", "percent_range", "calibrated.ci"),
            ("Outside", "percent", "calibrated.outside", "Calibration"),
            ("Residual", "points", "calibrated.residual.value", "Calibration"),
            ("95 % interval", "points_range", "calibrated.residual.ci", "Calibration"),
            ("Variance", "percent", "calibrated.oracle_share", "Calibration"),
        ],
        "The calibrated judge is right only if the same calibration holds where nobody answered. "
        "Outside: items whose signal is beyond those of all answered items. Residual: people’s "
        "answers minus those predicted from the other folds; if the interval excludes 0, do not "
        "use the calibrated judge for this share. Variance: the part that comes from learning "
        "the calibration.",
        first="Judge",
    )


class FewPeople(Section):
    """Estimate people's answers to all judged items from their answers to some."""

    name = "estimation"
    title = "Few people, many judgments"
    inside = "Estimates for all judged items, prediction-powered and by a calibrated judge"
    keys = """
estimation | object | Few answers by people and many judgments, combined into one estimate.
drawn | text | How the items for people were drawn.
signal | text | The signal that was used.
estimates | list | One entry for each quantity.
estimates.what | text | The estimated quantity.
answered | count | Items with answers by people.
alone | object | Estimate from people alone.
powered | object | Prediction-powered estimate.
weight | number | Weight of the judgments.
saved | share | Share of people's answers that the judgments save.
calibrated | object | Estimate from judgments calibrated with people's answers.
outside | share | Judgments outside the range on which they were calibrated.
residual | object | Mean of the answers minus their predictions; far from 0 if the fit is poor.
oracle_share | share | Share of the variance that comes from calibrating.
"""

    def is_needed(self, report: ReportJson) -> bool:
        return "estimation" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty if no judge judged items that nobody answered.

        Items without own answers do not count if people answered all items.
        """
        unanswered = (study.people.majority.n_votes == 0).sum()
        if study.votes.n and unanswered < FEWEST:
            return {}
        judges = []
        for run, judge in zip(study.data.runs, study.judges, strict=True):
            certainty, signal = _certainty(study, run, judge)
            estimates = [
                _entry(study, estimand)
                for estimand in _estimands(study, judge, certainty)
                if estimand.is_needed
            ]
            if estimates:
                judges.append(identity(run) | {"signal": signal, "estimates": estimates})
        if not judges:
            return {}
        draw = study.data.of(Draw)
        way = SAMPLE if draw is None else BY_TOPIC if draw.probability is None else DRAWN
        return {"estimation": {"drawn": way, "judges": judges}}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "estimation" in report:
            yield estimates_table(report["estimation"])
            yield calibrated_table(report["estimation"])

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        chapter = report.get("estimation")
        if chapter is None:
            return
        best = _best(chapter)
        if best is None:
            words = "Few people: no interval of any share of all judged items."
            yield Sentence.of("missing", words)
            return
        judge, place = best
        entry = chapter["judges"][judge]
        row = entry["estimates"][place]
        path = f"estimation.judges.{judge}.estimates.{place}"
        judged = Population("item", n=row["items"], path=f"{path}.items")
        interval = QuantityInterval.at(row["powered"], "ci", f"{path}.powered")
        share, at = row["powered"]["value"], f"{path}.powered.value"
        answered = Quantity("count", judged, row["answered"], f"{path}.answered")
        who = "own answers are known for {n} of them"
        if row["against"] == PEOPLE:
            who = "both judge and people decided {n} of them"
        slots: dict[str, Slot] = {
            "judge": Name(run_name(entry, chapter["judges"])),
            "who": clause(who, n=answered),
            "items": judged,
            "share": Quantity("rate", judged, share, at, interval),
            "others": Words(WORDS[row["against"]]),
        }
        form = (
            "{judge} judged {items}; {who}. Estimated for all of them, it agrees with {others} on "
            "{share} ({share.interval}). "
        )
        if row["what"] == "wins":
            form = (
                "{judge} judged {items} of {system}; {who}. Estimated for all of them, {system} "
                "wins by {others} in {share} ({share.interval}). "
            )
            slots["system"] = Name(row["system"])
        if round(row["saved"]) > 0:
            form += (
                "Without the judge, an equally narrow interval needs {saved} more answered items."
            )
            slots["saved"] = Quantity("count", judged, round(row["saved"]), f"{path}.saved")
        else:
            form += "The judge does not make the interval narrower than answers alone would."
        yield Sentence("finding", say(form, **slots))


def _best(report: ReportJson) -> tuple[int, int] | None:
    """The estimate in the finding: people's before own answers, most saved first."""
    places = [
        (judge, place)
        for judge, entry in enumerate(report["judges"])
        for place, row in enumerate(entry["estimates"])
        if row["saved"] is not None
    ]

    def rank(at: tuple[int, int]) -> tuple[bool, bool, float]:
        row = report["judges"][at[0]]["estimates"][at[1]]
        return row["against"] == PEOPLE, row["what"] == "agreement", row["saved"]

    return max(places, key=rank, default=None)


FEW_PEOPLE = FewPeople()
