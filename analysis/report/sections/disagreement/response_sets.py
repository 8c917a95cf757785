"""Answers as sets: judges ranked by people's sets and by a forced choice."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from analysis.data.arrays import RunData
from analysis.data.signals import answer_shares, probability_shares
from analysis.data.verdicts import Verdicts
from analysis.report.encode import Json, estimate, put
from analysis.report.section import Report, Section, Sentence
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.text.names import run_name
from analysis.report.text.numbers import percent
from analysis.report.text.sentences import fill, shown
from analysis.stats.agreement.response_sets import (
    ForcedChoices,
    forced_choices,
    forced_shares,
    ranks,
    set_distance,
)
from analysis.stats.comparison.general_difference import GeneralDifference, general_difference

TIE = 2
# People were not asked twice: an answer of both sides counts half for each when forced.
EVEN = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
ASKED, REBUILT = "asked", "rebuilt"


def response_sets(study: ReportedStudy) -> Json:
    """The entry of report.json; empty unless people answered and could say that either is right.

    It has the judges that could answer the same, each with the run of the same judge, features,
    wording and framing that was forced to choose.
    """
    counts = study.votes.counts()
    if not study.data.answers_are_sets or counts.shape[1] < TIE + 1 or not counts.any():
        return {}
    pairs = list(zip(study.data.runs, study.judges, strict=True))
    judges = [
        _judge(study, counts, run, judge, _forced_run(run, pairs))
        for run, judge in pairs
        if run.offers_tie
    ]
    if not judges:
        return {}
    for reading in ("sets", "forced"):
        places = ranks([each[reading]["value"] for each in judges])
        for each, place in zip(judges, places, strict=True):
            put(each[reading], "place", place, each[reading].get("value_reason"))
    total = int(counts.sum())
    return {
        "response_sets": {
            "answers": total,
            "either": int(counts[:, TIE].sum()),
            "same_order": all(each["sets"]["place"] == each["forced"]["place"] for each in judges),
            "judges": judges,
        }
    }


def _forced_run(run: RunData, pairs: list[tuple[RunData, Verdicts]]) -> Verdicts | None:
    """The first run of the same judge that was forced to choose about the same texts."""
    for other, verdicts in pairs:
        same = (other.judge, other.features, other.way) == (run.judge, run.features, run.way)
        if same and not other.offers_tie:
            return verdicts
    return None


def _judge(
    study: ReportedStudy,
    counts: np.ndarray[Any, np.dtype[np.int64]],
    run: RunData,
    judge: Verdicts,
    forced: Verdicts | None,
) -> Json:
    given = probability_shares(study.data, run, judge).shares
    if np.isnan(given).all():
        given = answer_shares(study.data, run, judge).shares
    found = set_distance(given, counts, study.shared.items)
    matrix = None if forced is None else forced_choices(judge.answer, forced.answer)
    rebuilt = forced_shares(given, EVEN if matrix is None else matrix.shares)
    if forced is not None:
        asked = np.column_stack([forced.answer == 0, forced.answer == 1]).astype(np.float64)
        asked[forced.answer < 0] = np.nan
    people = forced_shares(counts, EVEN)
    by_force = _forced_distance(study, rebuilt if forced is None else asked, counts, people)
    out = identity(run) | {"sets": _distance(found), "forced": _distance(by_force)}
    out["forced"]["source"] = REBUILT if forced is None else ASKED
    out["matrix"] = None if matrix is None else _matrix(matrix)
    if forced is not None:
        off = _forced_distance(study, rebuilt, counts, people)
        out["rebuilt"] = _distance(off)
    return out


def _forced_distance(
    study: ReportedStudy,
    shares: np.ndarray[Any, np.dtype[np.float64]],
    counts: np.ndarray[Any, np.dtype[np.int64]],
    people: np.ndarray[Any, np.dtype[np.float64]],
) -> GeneralDifference:
    """Squared distance from people's shares with half an answer to each side of a tie."""
    n = counts.sum(axis=1)
    p = people[:, 0] / np.maximum(n, 1)
    # Answers of 1, 1/2 or 0 have this variance, whose part in the share is subtracted.
    variance = (counts[:, 0] + counts[:, TIE] / 4) / np.maximum(n, 1) - p**2
    distance = (shares[:, 0] - p) ** 2 - variance / np.maximum(n - 1, 1)
    return general_difference(np.where(n >= 2, distance, np.nan), study.shared.items)


def _distance(found: GeneralDifference) -> Json:
    return {"items": found.n} | estimate(found)


def _matrix(found: ForcedChoices) -> Json:
    names = ("r1", "r2", "either")
    return {
        name: {"n": int(counts.sum()), "r1": float(shares[0]) if counts.sum() else None}
        for name, counts, shares in zip(names, found.counts, found.shares, strict=True)
    }


def response_sets_table(report: Report) -> Table:
    found = report["response_sets"]
    rows = []
    for entry in found["judges"]:
        source = {ASKED: "asked", REBUILT: "from its sets"}[entry["forced"]["source"]]
        matrix = entry["matrix"] or {}
        either = matrix.get("either", {})
        forced = {"source": source, "either": either.get("r1"), "n": either.get("n")}
        rows.append((run_name(entry, found["judges"]), {**entry, **forced}))
    return table_of_entries(
        "response_sets",
        "Judges by the sets that people find possible, and by a forced choice",
        rows,
        [
            ("Items", "count", "sets.items", "Sets"),
            ("Distance", "decimal", "sets.value", "Sets"),
            ("95 % interval", "range", "sets.ci", "Sets"),
            ("Place", "count", "sets.place", "Sets"),
            ("Choices", "text", "source", "Forced choice"),
            ("Distance", "decimal", "forced.value", "Forced choice"),
            ("95 % interval", "range", "forced.ci", "Forced choice"),
            ("Place", "count", "forced.place", "Forced choice"),
            ("Items", "count", "n", "Forced where either"),
            ("Response 1", "percent", "either", "Forced where either"),
        ],
        "Sets: squared distance between the shares of answers that include each response, 0 is "
        "people in general; a judge’s tie counts as either. What a judge chooses when forced has "
        "no part in it. Forced choice: squared distance from people’s share of response 1, where "
        "an answer of either counts half for each response, because people were not asked twice; "
        "the judge’s own run without a tie, or, without one, its sets split evenly. Both distances "
        "allow for few answers and can be below 0 by chance.",
        first="Judge",
    )


class ResponseSets(Section):
    """Judges under both readings of an answer that either response could be right."""

    name = "response_sets"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return response_sets(study)

    def tables(self, report: Report) -> Iterator[Table]:
        if "response_sets" in report:
            yield response_sets_table(report)


def finding(report: Report) -> Sentence:
    """How often either could be right, and whether that changes the order of judges."""
    found = report["response_sets"]
    words = "People find either response possible in {share} of {n} answers"
    values = {
        "share": shown(percent(found["either"] / found["answers"]), "response_sets.either"),
        "n": shown(f"{found['answers']:,}", "response_sets.answers"),
    }
    ranked = [each for each in found["judges"] if each["sets"]["place"] is not None]
    if len(ranked) > 1:
        words += (
            "; both readings rank the judges alike"
            if found["same_order"]
            else "; judges rank otherwise by people’s sets than by a forced choice"
        )
    return Sentence("finding", fill(words + ".", **values))
