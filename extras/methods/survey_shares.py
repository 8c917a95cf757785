"""Judges next to the shares of a population's answers, where a survey is the source of the items.

An item's metadata has them as `survey_shares`: the share of each of its two responses.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from analysis.data.arrays import Dataset, DesignData
from analysis.data.extras import ExtraReader
from analysis.data.verdicts import Floats, Shares
from analysis.report.report_json import Json, estimate
from analysis.report.section import ReportJson, Section
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import run_name
from analysis.stats.comparison.general_difference import general_difference
from extras.methods.distances import DISTRIBUTIONS
from studies.models import Item, Study

# Shares of readings are few answers, whose distance would need their noise.
_SOURCES = tuple(source for source in DISTRIBUTIONS if source.name != "readings")


@dataclass(frozen=True, eq=False)
class SurveyShares(DesignData):
    """The share of people who give response 1, of those who give one of the two; NaN if unknown."""

    first: Floats

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.first.tobytes()).hexdigest()


def _share(stored: object) -> float:
    """The share of response 1; NaN if the metadata are not two shares."""
    if not isinstance(stored, dict):
        return math.nan
    shares = [
        float(share)
        for share in (stored.get("r1"), stored.get("r2"))
        if isinstance(share, int | float) and share is not True and 0 <= share <= 100
    ]
    return shares[0] / math.fsum(shares) if len(shares) == 2 and any(shares) else math.nan


def survey_shares_of(
    study: Study, data: Dataset, position: Mapping[int, int]
) -> SurveyShares | None:
    """The shares of a study's items; None if no item has any."""
    rows = Item.objects.filter(study=study, metadata__has_key="survey_shares")
    first = np.full(len(position), np.nan)
    for item, shares in rows.values_list("pk", "metadata__survey_shares").iterator():
        if item in position:
            first[position[item]] = _share(shares)
    return None if np.isnan(first).all() else SurveyShares(first)


SURVEY_SHARES = ExtraReader("survey shares", survey_shares_of)


def survey_entry(study: ReportedStudy) -> Json:
    """The entry of report.json; empty without shares."""
    stored = study.data.of(SurveyShares)
    if stored is None:
        return {}
    people = stored.first
    known = ~np.isnan(people)
    judges = []
    for run, judge in zip(study.data.runs, study.judges, strict=True):
        rows = [
            {"source": source.name}
            | _compared(study, people, source.values(study.data, run, judge))
            for source in _SOURCES
        ]
        judges.append(identity(run) | {"distances": [row for row in rows if row["items"]]})
    return {
        "survey_shares": {
            "items": int(known.sum()),
            "even": {"value": float(((people[known] - 0.5) ** 2).mean()), "ci": None},
            "judges": judges,
        }
    }


def _compared(study: ReportedStudy, people: Floats, source: Shares) -> Json:
    # A tie is half of each response.
    judge = source.shares[:, 0] + source.shares[:, 2] / 2
    n = int((~np.isnan(judge) & ~np.isnan(people)).sum())
    if not n:
        return {"items": 0}
    by_item = {
        "squared": (judge - people) ** 2,
        "agreement": judge * people + (1 - judge) * (1 - people),
        "most": np.where(np.isnan(judge), np.nan, np.maximum(people, 1 - people)),
    }
    return {"items": n} | {
        name: estimate(general_difference(values, study.shared.judged))
        for name, values in by_item.items()
    }


def survey_table(report: ReportJson) -> Table:
    entry = report["survey_shares"]
    labels = {source.name: source.label for source in _SOURCES}
    rows = [
        (
            "Even shares",
            {
                "label": "–",
                "items": entry["items"],
                "squared": entry["even"],
                "agreement": {"value": 0.5, "ci": None},
                "most": {"value": None},
            },
        )
    ]
    rows += [
        (run_name(judge, entry["judges"]), row | {"label": labels[row["source"]]})
        for judge in entry["judges"]
        for row in judge["distances"]
    ]
    return table_of_entries(
        "survey_shares",
        "Judges next to the shares of a survey’s answers",
        rows,
        [
            ("Distribution", "text", "label"),
            ("Items", "count", "items"),
            ("Squared distance", "decimal", "squared.value"),
            ("Interval", "range", "squared.ci"),
            ("Agrees with one person", "percent", "agreement.value"),
            ("Interval", "percent_range", "agreement.ci"),
            ("At most", "percent", "most.value"),
        ],
        "How often a judge would agree with somebody drawn from the people who were asked, of "
        "those who gave one of the two responses. At most: always the more common response, on "
        "the same items. A squared distance of 0 is the people’s own shares, 1 the largest "
        "possible. A tie is half of each response. 95 % intervals, for items like these.",
        first="Who",
    )


class SurveySection(Section):
    """Judges next to the shares that a survey found."""

    name = "survey_shares"
    title = "Shares of a survey"
    inside = "Distances from the shares of a survey’s answers"
    keys = """
survey_shares | object | Judges next to the shares of a survey, on items whose metadata have them.
survey_shares.items | count | Items with shares.
survey_shares.even | object | Squared distance of even shares.
agreement | object | Expected agreement with one person of those who were asked.
most | object | Expected agreement of the more common response, on the same items.
"""

    def is_needed(self, report: ReportJson) -> bool:
        return "survey_shares" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return survey_entry(study)

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if self.is_needed(report):
            yield survey_table(report)


SURVEY = SurveySection()
