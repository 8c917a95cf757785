"""Report chapter on wordings that judges learned from people's answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.data.arrays import Dataset, DesignData
from analysis.data.extras import ExtraReader
from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    QuantityInterval,
    Text,
    clause,
    say,
)
from analysis.report.report_json import Json, estimate
from analysis.report.results import by_chance, cannot_tell
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.sentences import claim_p, level_of
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn, table_of_entries
from analysis.stats.comparison.general_difference import general_difference
from analysis.stats.core.shared_variance import Sharing
from extras.improving.models import LearnedFrom
from extras.improving.tables import finished, numbers_of_annotators
from studies.models import Study
from studies.texts.normalisation import digest

CLAIM = "wordings learned from people"
_TRIED = ("before", "after", "difference", "ci", "p_holm")


@dataclass(frozen=True, eq=False)
class StudyImprovements(DesignData):
    """The finished improvements of a study, in order."""

    not_pooled = "its wordings were learned in one study"

    entries: tuple[Json, ...]

    @property
    def digest(self) -> str:
        return digest(list(self.entries))


def improvements_of(
    study: Study, data: Dataset, position: Mapping[int, int]
) -> StudyImprovements | None:
    """What came out of every improvement; None before the first."""
    reported = {run.run for run in data.runs}
    done = [one for one in finished(study) if one.run.key in reported]
    number = numbers_of_annotators(done)
    entries = [
        {
            "annotator": number.get(one.annotator),
            "judge": one.run.judge.name,
            "setting": one.run.setting,
            "run": one.run.key,
            "split_on": f"{one.created_at:%Y-%m-%d}",
            "sealed_sha256": one.sealed_sha256,
            "opened_on": f"{one.opened_at:%Y-%m-%d}" if one.opened_at else None,
            "opening": one.opening,
            **{name: one.results[name] for name in ("learn_n", "sealed_n", "sealed_personas")},
            **{name: one.results[name] for name in ("earlier_tried", "has_moved")},
            "wordings": [
                {name: value for name, value in candidate.items() if name != "is_better"}
                for candidate in one.results["candidates"]
            ],
        }
        for one in done
    ]
    return StudyImprovements(tuple(entries)) if entries else None


class ImprovingSection(Section):
    """Whether a wording that was learned from people is better on answers that it never saw."""

    name = "improving"
    title = "Wordings learned from people"
    inside = "Wordings that judges learned, and their one trial on sealed answers"
    has_claims = True
    keys = """
# Wordings learned from people
improvements | list | Each finished improvement of a run's wording.
improvements.annotator | count | Number of the annotator whom it predicts; null: all people.
split_on | text | Day on which people's answers were split.
sealed_sha256 | text | Hash of the sealed answers.
opened_on | text | Day on which wordings were tried on the sealed part; null if none was.
opening | count | How often the sealed part had been opened for this judge, with this time.
learn_n | count | Items to learn from.
sealed_n | count | Sealed items.
sealed_personas | count | Their personas; of one annotator, their questions.
earlier_tried | count | Wordings tried in earlier openings; the correction counts them too.
has_moved | flag | Whether the model had another version when it was asked with them.
improvements.wordings | list | Wordings that were learned.
improvements.wordings.kind | text | What the wording adds to the usual one.
improvements.wordings.wording | text | Its name and version.
improvements.wordings.sha256 | text | Its hash.
learned | share | Gain on the part to learn from, each item judged by a wording learned elsewhere.
learned_ci | interval | Its interval, without correction.
learned_n | count | Items on which it was judged there.
improvements.wordings.before | share | Right answers on the sealed items with the usual wording.
improvements.wordings.after | share | Right answers with this wording.
improvements.wordings.changed | share | Sealed items on which one is right and the other not.
improvements.wordings.difference | share | After minus before.
improvements_of_one | list | For each run, the gains over annotators from whose answers it learned.
improvements_of_one.people | count | Annotators.
improvements_of_one.opened | count | Those with a wording that was tried on their sealed answers.
improvements_of_one.items | count | Their sealed items.
improvements_of_one.value | share | Mean over annotators of the gain on their sealed answers.
"""

    def is_needed(self, report: ReportJson) -> bool:
        return "improvements" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        improvements = study.data.of(StudyImprovements)
        if improvements is None:
            return {}
        entries = list(improvements.entries)
        of_one = _over_annotators(entries)
        return {"improvements": entries} | ({"improvements_of_one": of_one} if of_one else {})

    def claims(self, report: ReportJson) -> Mapping[str, Sequence[float | None]]:
        return {
            CLAIM: [
                claim_p(wording)
                for one in report.get("improvements", ())
                for wording in one["wordings"]
                if "p_holm" in wording
            ]
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        improvements = report.get("improvements", ())
        rows = [
            [
                _who(one),
                wording["wording"],
                LearnedFrom(wording["kind"]).label,
                wording["learned"],
            ]
            + [wording.get(key) for key in _TRIED]
            + [wording["sha256"]]
            for one in improvements
            for wording in one["wordings"]
        ]
        columns = (
            TableColumn("Judge"),
            TableColumn("Wording"),
            TableColumn("Adds"),
            TableColumn("Gain", "points", "Part to learn from"),
            TableColumn("Usual wording", "percent", "Sealed part"),
            TableColumn("This one", "percent", "Sealed part"),
            TableColumn("Gain", "points", "Sealed part"),
            TableColumn("95 % interval", "points_range", "Sealed part"),
            TableColumn("Adjusted p", "p", "Sealed part"),
            TableColumn("SHA-256"),
        )
        note = (
            "Right: the persona’s own answer, or else that of most people; no verdict counts one "
            "half. Part to learn from: every item is judged with a wording that was learned from "
            "other personas; the best were named before the sealed part was opened. Adjusted p: "
            "Holm, over all wordings that were tried on sealed answers for this judge. Intervals "
            "allow for personas and questions in common. For one annotator, right is that person’s "
            "answer, and other questions take the place of other personas."
        )
        yield Table("improvements", "Learned wordings", columns, rows, note)
        yield Table(
            "improvement_seals",
            "Seals",
            (
                TableColumn("Judge"),
                TableColumn("Items to learn from", "count"),
                TableColumn("Sealed items", "count"),
                TableColumn("Sealed personas (of one annotator: questions)", "count"),
                TableColumn("Split on"),
                TableColumn("Opened on"),
                TableColumn("Openings", "count"),
                TableColumn("SHA-256 of the sealed answers"),
            ),
            [
                [_who(one)]
                + [one[key] for key in ("learn_n", "sealed_n", "sealed_personas")]
                + [one["split_on"], one["opened_on"] or "not opened", one["opening"]]
                + [one["sealed_sha256"]]
                for one in improvements
            ],
            is_record=True,
        )
        if "improvements_of_one" in report:
            yield table_of_entries(
                "improvements_of_one",
                "Judges that see other answers of the annotator whom they predict",
                [(entry["judge"], entry) for entry in report["improvements_of_one"]],
                [
                    ("Annotators", "count", "people"),
                    ("with a trial", "count", "opened"),
                    ("Sealed items", "count", "items"),
                    ("Mean gain", "points", "value"),
                    ("95 % interval", "points_range", "ci"),
                ],
                "The gain of an annotator is that of the wording with the largest gain on the part "
                "to learn from; 0 if none gained there, because the usual wording is then kept. "
                "The mean and its interval are over annotators, for people like these.",
                first="Judge",
            )

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        level = level_of(report, CLAIM)
        for place, one in enumerate(report.get("improvements", ())):
            path = f"improvements.{place}"
            yield Sentence("finding", _finding(one, path, level))
            if one["opening"] > 1:
                yield Sentence("limit", _again(one, path), f"sealed_part_opened_again_{place}")
            if one["has_moved"]:
                yield Sentence("limit", _moved(one), f"learned_by_another_version_{place}")


def _who(one: Mapping[str, Any]) -> str:
    """The judge, with the number of the annotator whom it predicts."""
    number = one.get("annotator")
    return one["judge"] if number is None else f"{one['judge']} (annotator {number})"


def _over_annotators(entries: Sequence[Json]) -> list[Json]:
    """For each run, the mean gain over annotators, each with the first trial of their answers."""
    first: dict[tuple[str, int], Json] = {}
    for one in entries:
        if one["annotator"] is not None:
            # A later trial was chosen by somebody who knew the first.
            first.setdefault((one["run"], one["annotator"]), one)
    means = []
    for run in dict.fromkeys(run for run, _ in first):
        own = [one for (key, _), one in first.items() if key == run]
        gains = [_gain_of_one(one) for one in own]
        gap = general_difference(gains, Sharing.of_items(len(gains), {}))
        means.append(
            {
                "judge": own[0]["judge"],
                "run": run,
                "people": len(own),
                "opened": sum(one["opened_on"] is not None for one in own),
                "items": sum(one["sealed_n"] for one in own),
            }
            | estimate(gap)
        )
    return means


def _gain_of_one(one: Json) -> float:
    """The gain on sealed answers of the wording that gained most on the others; 0 without one."""
    tried = [wording for wording in one["wordings"] if wording.get("difference") is not None]
    best = max(tried, key=lambda wording: wording["learned"], default=None)
    return best["difference"] if best else 0.0


def _finding(one: Mapping[str, Any], path: str, level: float) -> Text:
    """The wording that holds with the largest gain, or that none was shown to be better."""
    name, is_better = Name(_who(one)), clause("any wording is better")
    sealed = Population("sealed item", n=one["sealed_n"], path=f"{path}.sealed_n")
    tried = [
        n for n, wording in enumerate(one["wordings"]) if wording.get("difference") is not None
    ]
    if not tried:
        return say(
            "{judge}: {open}. None of those learned from people gained anything on the part to "
            "learn from, so the sealed part was not opened.",
            judge=name,
            open=cannot_tell(is_better),
        )
    held = [
        n
        for n in tried
        if one["wordings"][n]["difference"] > 0
        and (p := claim_p(one["wordings"][n])) is not None
        and p <= level
    ]
    count = Population("wording", n=len(tried))
    if not held:
        best = max(tried, key=lambda n: one["wordings"][n]["difference"])
        return say(
            "{judge}: {open} ({tried} tried once on {sealed}; gain of the best: {gain} points, "
            "{gain.interval}).{chance}",
            judge=name,
            open=cannot_tell(is_better),
            tried=count,
            sealed=sealed,
            gain=(gain := _gain(one, path, best, sealed)),
            chance=by_chance(gain.interval),
        )
    best = max(held, key=lambda n: one["wordings"][n]["difference"])
    at = f"{path}.wordings.{best}"
    return say(
        "{judge} is right more often with the wording “{wording}”: {after} instead of {before} of "
        "{sealed} that it was not learned from ({gain} points, {gain.interval}; {tried} tried).",
        judge=name,
        wording=Name(one["wordings"][best]["wording"]),
        after=Quantity("share", sealed, one["wordings"][best]["after"], f"{at}.after"),
        before=Quantity("share", sealed, one["wordings"][best]["before"], f"{at}.before"),
        sealed=sealed,
        gain=_gain(one, path, best, sealed),
        tried=count,
    )


def _gain(one: Mapping[str, Any], path: str, n: int, of: Population) -> Quantity:
    at = f"{path}.wordings.{n}"
    entry = one["wordings"][n]
    interval = QuantityInterval.at(entry, "ci", at)
    return Quantity("points", of, entry["difference"], f"{at}.difference", interval)


def _again(one: Mapping[str, Any], path: str) -> Text:
    return say(
        "Sealed answers were opened {times} times for {judge}. Its correction counts the {earlier} "
        "tried before, but the person who chose what to try knew those results.",
        times=Quantity("count", None, one["opening"], f"{path}.opening"),
        judge=Name(_who(one)),
        earlier=Population("wording", n=one["earlier_tried"], path=f"{path}.earlier_tried"),
    )


def _moved(one: Mapping[str, Any]) -> Text:
    return say(
        "{judge} had another version of its model when it was asked with learned wordings than "
        "with the usual one, so a gain may be the model’s.",
        judge=Name(one["judge"]),
    )


READER = ExtraReader("improving", improvements_of)
CHAPTER = ImprovingSection()
