"""Verdicts by criterion, compared with the overall verdict and with people's majority."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.data.arrays import CHOICES, CODE, MISSING, TIE, Codes, Dataset, DesignData
from analysis.data.extras import ExtraReader
from analysis.data.verdicts import Ints
from analysis.report.report_json import Json, cell, put
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.study import ReportedStudy as Arrays
from analysis.report.study import identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import listed, percent, run_name
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.core.shared_variance import Sharing
from judging.models import Judgment
from studies.models import Item, Study


@dataclass(frozen=True, eq=False)
class CriterionVerdicts(DesignData):
    """One verdict of a run for each item and criterion of the study.

    Attributes
    ----------
    names : tuple of str
        The criteria, in the order of the study.
    runs : mapping of str to ndarray of int8, shape (items, criteria)
        0, 1 or 2 for response 1, response 2 or a tie; -1 without a verdict or if the run's orders
        and samples are split.
    """

    names: tuple[str, ...]
    runs: Mapping[str, Codes]

    @property
    def digest(self) -> str:
        """A digest of the contents."""
        hashed = hashlib.sha256(repr([self.names, list(self.runs)]).encode())
        for codes in self.runs.values():
            hashed.update(codes.tobytes())
        return hashed.hexdigest()


def criterion_verdicts_of(
    study: Study, data: Dataset, position: Mapping[int, int]
) -> CriterionVerdicts | None:
    """A study's verdicts by criterion; None if no run judged by criteria."""
    if not study.criteria:
        return None
    keys = {entry["key"]: n for n, entry in enumerate(study.criteria)}
    counts: dict[str, Any] = {}
    judgments = Judgment.objects.filter(
        run__study=study,
        run__bias_probe="",
        details__has_key="criteria",
        item__split=Item.Split.MAIN,
    ).values_list("run__key", "item_id", "details")
    for run, item, details in judgments.iterator():
        choices: Mapping[str, str] = (details or {})["criteria"]
        shape = len(position), len(keys), len(CHOICES)
        table = counts.setdefault(run, np.zeros(shape, dtype=np.int64))
        for key, choice in choices.items():
            if key in keys and CODE.get(choice, MISSING) != MISSING:
                table[position[item], keys[key], CODE[choice]] += 1
    judged = {run.run: _most(counts[run.run]) for run in data.runs if run.run in counts}
    if not any((codes >= 0).any() for codes in judged.values()):
        return None
    return CriterionVerdicts(tuple(criterion["name"] for criterion in study.criteria), judged)


def _most(counts: Any) -> Codes:
    """The most frequent choice; -1 if there is none or a tie."""
    top = counts.max(axis=2)
    is_clear = (top > 0) & ((counts == top[..., None]).sum(axis=2) == 1)
    return np.where(is_clear, counts.argmax(axis=2), MISSING).astype(np.int8)


CRITERIA = ExtraReader("criterion verdicts", criterion_verdicts_of)


def _criterion(study: Arrays, verdict: Ints, overall: Ints) -> Json:
    known = verdict >= 0
    out: Json = {"n": int(known.sum()), "ties": int((verdict == TIE).sum())}
    put(out, "tie", out["ties"] / out["n"] if out["n"] else None, "empty_group")
    out["own"] = _agreement(verdict, overall, study.shared.judged)
    out["people"] = _agreement(verdict, study.people.answer, study.shared.items)
    return out


def _agreement(verdict: Ints, reference: Ints, sharing: Sharing) -> Json:
    """Share of items with the same response, among those where both chose one."""
    decided = (verdict >= 0) & (verdict != TIE) & (reference >= 0) & (reference != TIE)
    rows = np.flatnonzero(decided)
    share = general_proportion(verdict[rows] == reference[rows], sharing.take(rows))
    return cell(share, "value", "agree")


_OWN, _PEOPLE = "Its own overall verdict", "Majority of people"


def criteria_table(report: ReportJson) -> Table:
    rows = [
        (f"{run_name(judge, report['judges'])}: {entry['criterion']}", entry)
        for judge in report["criteria"]["judges"]
        for entry in judge["criteria"]
    ]
    return table_of_entries(
        "criteria",
        "Verdicts by criterion",
        rows,
        [
            ("Items", "count", "n"),
            ("No difference", "percent", "tie"),
            ("Items", "count", "own.n", _OWN),
            ("agrees", "percent", "own.value", _OWN),
            ("95 % interval", "percent_range", "own.ci", _OWN),
            ("Items", "count", "people.n", _PEOPLE),
            ("agrees", "percent", "people.value", _PEOPLE),
            ("95 % interval", "percent_range", "people.ci", _PEOPLE),
        ],
        "Shares of the items where both chose a response. People state one choice per item, not "
        "one per criterion. Intervals hold for items, people, personas and questions in general.",
        first="Judge and criterion",
    )


class CriteriaSection(Section):
    """Agreement of a judge's verdicts by criterion with its overall verdict and with people."""

    name = "criteria"
    title = "Criteria"
    inside = "Verdicts by criterion"
    keys = """
criteria | object or list | Judgments by criterion.
names | list | Names of criteria.
criterion | text | Name of the criterion.
criteria.tie | share | Share of ties.
agree | count | Items on which the criterion agrees.
"""

    def is_needed(self, report: ReportJson) -> bool:
        return "criteria" in report

    def compute(self, study: Arrays, earlier: ReportJson) -> Json:
        """The entry of report.json; empty if no run judged by criteria."""
        stored = study.data.of(CriterionVerdicts)
        if stored is None:
            return {}
        judges = []
        for run, overall in zip(study.data.runs, study.judges, strict=True):
            if (verdicts := stored.runs.get(run.run)) is None:
                continue
            by_criterion = [
                {"criterion": name}
                | _criterion(study, verdicts[:, n].astype(np.int64), overall.answer)
                for n, name in enumerate(stored.names)
            ]
            judges.append(identity(run) | {"criteria": by_criterion})
        return {"criteria": {"names": list(stored.names), "judges": judges}}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "criteria" in report:
            yield criteria_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for judge in report["criteria"]["judges"] if "criteria" in report else ():
            known = [entry for entry in judge["criteria"] if entry["people"]["value"] is not None]
            if len(known) > 1:
                # In the study's order: without a test, the ranking is not a finding.
                shares = [
                    f"{percent(entry['people']['value'])} by “{entry['criterion']}” "
                    f"({entry['people']['n']:,} items)"
                    for entry in known
                ]
                yield Sentence.of(
                    "finding",
                    f"{run_name(judge, report['judges'])} agrees with the majority of people on "
                    f"{listed(shares)}.",
                )


CHAPTER = CriteriaSection()
