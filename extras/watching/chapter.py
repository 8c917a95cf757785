"""Report chapter on watched sets, and the table of their looks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.data.arrays import Dataset, DesignData
from analysis.data.extras import ExtraReader
from analysis.report.quantities import Name, Population, Text, Words, clause, say
from analysis.report.report_json import Json, undefined
from analysis.report.results import cannot_tell
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.sentences import holds, level_of
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.words import listed
from extras.watching.evidence import KINDS
from extras.watching.models import WatchedSet
from studies.models import Study
from studies.texts.normalisation import digest

CLAIM = "watched sets"
_WHO = {"judge": "the judge", "items": "items", "people": "people"}


@dataclass(frozen=True, eq=False)
class StudyWatchedSets(DesignData):
    """What the looks at each watched set of a study have shown, in order."""

    not_pooled = "its watched sets are of one study"

    entries: tuple[Json, ...]

    @property
    def digest(self) -> str:
        return digest(list(self.entries))


def sets_of(study: Study, data: Dataset, position: Mapping[int, int]) -> StudyWatchedSets | None:
    """The sets with a look; None before the first."""
    rows = WatchedSet.objects.filter(study=study).select_related("run__judge").order_by("pk")
    # A set has no result before its first look.
    sets = [(one, one.result) for one in rows if one.result is not None]
    tests = sum(result["kinds"][kind]["is_compared"] for _, result in sets for kind in KINDS)
    entries = [
        {
            "judge": one.run.judge.name,
            "setting": one.run.setting,
            "run": one.run.key,
            "frozen_on": f"{one.created_at:%Y-%m-%d}",
            "items": one.items,
            "looks": result["looks"],
            "is_another": bool(result["another"]),
            "kinds": [_of_kind(kind, result["kinds"][kind], tests) for kind in KINDS],
        }
        for one, result in sets
    ]
    return StudyWatchedSets(tuple(entries)) if entries else None


def _of_kind(kind: str, result: Mapping[str, Any], tests: int) -> Json:
    """The evidence that something moved; E or more has a chance of at most 1/E if nothing did."""
    if not result["is_compared"]:
        return {"kind": kind} | undefined("empty_group", "evidence", "p")
    evidence = result["evidence"]
    return {"kind": kind, "evidence": evidence, "p": min(1.0, tests / max(evidence, 1.0))}


class WatchedSection(Section):
    """Whether judges, items or people have moved since a set was frozen."""

    name = "watched_sets"
    title = "Watched sets"
    inside = "Whether judges, items or people have moved"
    has_claims = True
    keys = """
# Watched sets
watched_sets | list | Each set of frozen items at which somebody has looked.
frozen_on | text | Day on which the set was frozen.
watched_sets.items | count | Its items.
looks | count | Times that the judge was asked again after the baseline.
is_another | flag | Whether the judge is known to be another one, by its version or settings.
watched_sets.kinds | list | What may have moved: the judge, items, people.
watched_sets.kinds.kind | text | `judge`, `items` or `people`.
evidence | number | Largest evidence of a move; null if there was nothing to compare.
watched_sets.kinds.p | number | Number of tests over the evidence; for any number of looks.
"""

    def is_needed(self, report: ReportJson) -> bool:
        return "watched_sets" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        sets = study.data.of(StudyWatchedSets)
        return {"watched_sets": list(sets.entries)} if sets else {}

    def claims(self, report: ReportJson) -> Mapping[str, Sequence[float | None]]:
        kinds = [kind for one in report.get("watched_sets", ()) for kind in one["kinds"]]
        return {CLAIM: [kind["p"] for kind in kinds]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        rows = [
            [
                *(one[key] for key in ("judge", "frozen_on", "items", "looks")),
                *(kind[key] for key in ("kind", "evidence", "p")),
            ]
            for one in report.get("watched_sets", ())
            for kind in one["kinds"]
        ]
        columns = (
            TableColumn("Judge"),
            TableColumn("Frozen on"),
            TableColumn("Items", "count"),
            TableColumn("Looks", "count"),
            TableColumn("What may have moved"),
            TableColumn("Evidence", "number"),
            TableColumn("Adjusted p", "p"),
        )
        note = (
            "Evidence: with nothing moved, it ever reaches E in at most 1 of E sets. Adjusted p: "
            "the number of tests over E, however often somebody looked. A move before a set was "
            "frozen is part of its baseline and cannot be seen."
        )
        yield Table("watched_sets", "Evidence that something moved", columns, rows, note)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        level = level_of(report, CLAIM)
        for place, one in enumerate(report.get("watched_sets", ())):
            yield Sentence("finding", _finding(one, f"watched_sets.{place}", level))


def _finding(one: Mapping[str, Any], path: str, level: float) -> Text:
    moved = [_WHO[kind["kind"]] for kind in one["kinds"] if holds(kind, level, "p")]
    looks = Population("look", n=one["looks"], path=f"{path}.looks")
    items = Population("frozen item", n=one["items"], path=f"{path}.items")
    name = Name(one["judge"])
    if one["is_another"]:
        return say(
            "{judge} is not the judge that was frozen ({items}, {looks}): its version, settings or "
            "prompt are others.",
            judge=name,
            items=items,
            looks=looks,
        )
    if not moved:
        return say(
            "{judge}: {open} ({items}, {looks}).",
            judge=name,
            open=cannot_tell(clause("anything moved after the set was frozen")),
            items=items,
            looks=looks,
        )
    return say(
        "{judge}: {moved} moved after the set was frozen ({items}, {looks}).",
        judge=name,
        moved=Words(listed(moved)),
        items=items,
        looks=looks,
    )


READER = ExtraReader("watched_sets", sets_of)
CHAPTER = WatchedSection()
