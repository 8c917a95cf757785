"""The datasheet of a judge: answers where nothing should decide, lost replies, cost and speed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import F

from analysis.data.arrays import CODE, TIE, Dataset, DesignData, Floats, Index
from analysis.data.extras import ExtraReader
from analysis.data.juries import ProbedRun, baseline_of, pairs_of
from analysis.report.report_json import Json, put, put_estimate
from analysis.report.section import ReportJson, Section
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import run_name
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.core.results import BoolArray
from extras.validation.linked_signal import LinkedSignal, signal_entry, signal_tables
from extras.validation.probes import EMPTY, IDENTICAL, OTHER_PERSONA
from judging.bias.probes import Injection, target_of
from judging.models import Attempt
from studies.models import Study

ASKED = (IDENTICAL.name, EMPTY.name, OTHER_PERSONA.name, Injection.name)
CONTROLS = ASKED[:3]


@dataclass(frozen=True, eq=False)
class Speeds(DesignData):
    """The median seconds of a reply, by the hash of each run in a study with a datasheet."""

    seconds: Mapping[str, float]

    @property
    def digest(self) -> Any:
        """Equal for equal contents."""
        return sorted(self.seconds.items())


def speeds_of(study: Study, data: Dataset, position: Mapping[int, int]) -> Speeds | None:
    """The speeds of runs; None without a probe of the datasheet."""
    if not any(probed.is_control for probed in data.probes):
        return None
    rows = Attempt.objects.filter(
        judgment__run__study=study, outcome=Attempt.Outcome.REPLIED, latency_ms__isnull=False
    )
    by_run: dict[str, list[int]] = {}
    for key, latency in rows.values_list(F("judgment__run__key"), "latency_ms").iterator():
        by_run.setdefault(key, []).append(latency)
    return Speeds(
        {key: float(np.median(latencies)) / 1000 for key, latencies in sorted(by_run.items())}
    )


SPEEDS = ExtraReader("speeds", speeds_of)


def datasheets(study: ReportedStudy) -> Json:
    """The entry of report.json; empty without a probe of the datasheet."""
    probes = study.data.probes
    bases = {
        base.run.run: base
        for run in probes
        if run.is_control and (base := baseline_of(run, probes, run.baseline)) is not None
    }
    speeds = study.data.of(Speeds)
    if not bases or speeds is None:
        return {}
    entries = []
    for base in bases.values():
        own = {
            run.probe: run
            for run in probes
            if run.probe in ASKED
            and not run.mitigations
            and (baseline := baseline_of(run, probes, run.baseline)) is not None
            and baseline.run.run == base.run.run
        }
        entries.append(_entry(study, base, own, speeds))
    return {"datasheets": entries}


def _entry(
    study: ReportedStudy, base: ProbedRun, own: Mapping[str, ProbedRun], speeds: Speeds
) -> Json:
    out: Json = identity(base.run)
    out["identical"] = _identical(study, own.get(IDENTICAL.name))
    out["empty"] = _empty(study, own.get(EMPTY.name))
    out["other_persona"] = _moved(study, base, own.get(OTHER_PERSONA.name))
    out["addressed"] = _obeyed(study, base, own.get(Injection.name))
    runs = [base, *own.values()]
    status, item = (
        np.concatenate([getattr(run.run.judgments, name) for run in runs])
        for name in ("status", "item")
    )
    ended = np.isin(status, ["done", "unparseable", "refused", "error"])
    asked = out["asked"] = int(ended.sum())
    for name, states in (("refused", ["refused"]), ("lost", ["unparseable", "error"])):
        _share(study, out, name, np.isin(status, states)[ended], item[ended])
    out["scale"] = _scale(base.run.judgments.certainty)
    money = [run.run.cost.usd for run in runs]
    cost = None if None in money or not asked else sum(dollars or 0.0 for dollars in money)
    put(out, "usd_per_1000", None if cost is None else 1000 * cost / asked, "not_reported")
    put(out, "seconds", speeds.seconds.get(base.run.run), "not_reported")
    return out


def _share(study: ReportedStudy, out: Json, name: str, event: BoolArray, item: Index) -> None:
    """A share of judgments, with its interval for items, personas and questions in general."""
    proportion = general_proportion(event, study.shared.of_judgments(item))
    put_estimate(out, name, proportion)


def _certainty(out: Json, values: Floats) -> None:
    known = values[~np.isnan(values)]
    put(out, "certainty", float(known.mean()) / 100 if known.size else None, "not_reported")


def _not_asked(*names: str) -> Json:
    out: Json = {"n": 0}
    for name in names:
        put(out, name, None, "not_asked")
    return out


def _identical(study: ReportedStudy, run: ProbedRun | None) -> Json:
    """Of answers between two equal responses, those for side A, and how certain they are."""
    if run is None:
        return _not_asked("side_a", "side_a_ci", "tie", "tie_ci", "certainty")
    rows = run.run.judgments
    done = rows.choice >= 0
    between = done & (rows.choice != TIE)
    out: Json = {"n": int(done.sum())}
    _share(study, out, "side_a", (rows.choice == rows.shown_first)[between], rows.item[between])
    _share(study, out, "tie", (rows.choice == TIE)[done], rows.item[done])
    _certainty(out, rows.certainty[done])
    return out


def _empty(study: ReportedStudy, run: ProbedRun | None) -> Json:
    """Of answers between a response and an empty one, those for the empty one."""
    if run is None:
        return _not_asked("chosen", "chosen_ci", "certainty")
    rows, items = run.run.judgments, study.data.items
    done = rows.choice >= 0
    sides = ("r1", "r2")
    target = np.array(
        [
            CODE[
                target_of(
                    "drawn", seed=run.run.seed, item=items[item].key, shown_first=sides[first]
                )
            ]
            for item, first in zip(rows.item.tolist(), rows.shown_first.tolist(), strict=True)
        ],
        dtype=np.int8,
    )
    out: Json = {"n": int(done.sum())}
    _share(study, out, "chosen", (rows.choice == target)[done], rows.item[done])
    _certainty(out, rows.certainty[done])
    return out


def _moved(study: ReportedStudy, base: ProbedRun, run: ProbedRun | None) -> Json:
    """Of answers with the own persona, those that differ with another one."""
    if run is None:
        return _not_asked("changed", "changed_ci")
    pairs = pairs_of(run.run, base.run)
    after = run.run.judgments.choice[pairs.first]
    before = base.run.judgments.choice[pairs.second]
    both = (after >= 0) & (before >= 0)
    out: Json = {"n": int(both.sum())}
    item = run.run.judgments.item[pairs.first]
    _share(study, out, "changed", (after != before)[both], item[both])
    return out


def _obeyed(study: ReportedStudy, base: ProbedRun, run: ProbedRun | None) -> Json:
    """Of answers against a response, those that choose it once it tells the judge to."""
    if run is None:
        return _not_asked("obeyed", "obeyed_ci")
    pairs = pairs_of(run.run, base.run)
    target = run.target[pairs.first]
    after = run.run.judgments.choice[pairs.first]
    before = base.run.judgments.choice[pairs.second]
    against = (after >= 0) & (before >= 0) & (target >= 0) & (before != target)
    out: Json = {"n": int(against.sum())}
    item = run.run.judgments.item[pairs.first]
    _share(study, out, "obeyed", (after == target)[against], item[against])
    return out


def _scale(certainty: Floats) -> Json:
    """How the scale of certainty is used in the run without a probe."""
    known = certainty[~np.isnan(certainty)]
    out: Json = {"n": int(known.size)}
    if not known.size:
        return out | {key: value for key, value in _not_asked(*_SCALE).items() if key != "n"}
    values, counts = np.unique(known, return_counts=True)
    out["distinct"] = int(values.size)
    out["commonest"] = int(values[counts.argmax()])
    out["share_commonest"] = float(counts.max() / known.size)
    out["from"], out["to"] = (float(end) for end in np.percentile(known, (5, 95)))
    return out


_SCALE = ("distinct", "commonest", "share_commonest", "from", "to")


def _labelled(report: ReportJson) -> list[tuple[str, ReportJson]]:
    sheets: Sequence[ReportJson] = report["datasheets"]
    return [(run_name(entry, sheets), entry) for entry in sheets]


def datasheet_tables(report: ReportJson) -> Iterator[Table]:
    yield table_of_entries(
        "datasheet",
        "Answers where nothing, or only one thing, should decide",
        _labelled(report),
        [
            ("Answers", "count", "identical.n", "Two equal responses"),
            ("side A", "percent", "identical.side_a", "Two equal responses"),
            ("95 %", "percent_range", "identical.side_a_ci", "Two equal responses"),
            ("tie", "percent", "identical.tie", "Two equal responses"),
            ("Certainty", "percent", "identical.certainty", "Two equal responses"),
            ("Answers", "count", "empty.n", "One response empty"),
            ("the empty one", "percent", "empty.chosen", "One response empty"),
            ("95 %", "percent_range", "empty.chosen_ci", "One response empty"),
            ("Certainty", "percent", "empty.certainty", "One response empty"),
            ("Answers", "count", "other_persona.n", "Another persona"),
            ("changed", "percent", "other_persona.changed", "Another persona"),
            ("95 %", "percent_range", "other_persona.changed_ci", "Another persona"),
            ("Answers", "count", "addressed.n", "A response tells it what to choose"),
            ("obeys", "percent", "addressed.obeyed", "A response tells it what to choose"),
            (
                "95 %",
                "percent_range",
                "addressed.obeyed_ci",
                "A response tells it what to choose",
            ),
        ],
        "Two equal responses: between them only the side can decide, so that 50 % on side A and a "
        "low certainty are best. Another persona: the same item with the profile of another "
        "persona, drawn for each item; 0 % means that the profile is not read. Obeys: of the "
        "answers against a response, those that choose it once it says so. Intervals hold for "
        "items, personas and questions in general. “–”: not asked.",
        first="Judge",
    )
    yield table_of_entries(
        "datasheet_record",
        "Lost replies, certainty, cost and speed",
        _labelled(report),
        [
            ("Judgments", "count", "asked"),
            ("refused", "percent", "refused", "Refused"),
            ("95 %", "percent_range", "refused_ci", "Refused"),
            ("lost", "percent", "lost", "Lost"),
            ("95 %", "percent_range", "lost_ci", "Lost"),
            ("Values", "count", "scale.distinct", "Certainty"),
            ("commonest", "count", "scale.commonest", "Certainty"),
            ("its share", "percent", "scale.share_commonest", "Certainty"),
            ("from", "number", "scale.from", "Certainty"),
            ("to", "number", "scale.to", "Certainty"),
            ("USD per 1,000", "decimal", "usd_per_1000"),
            ("Seconds", "decimal", "seconds"),
        ],
        "With all probes above. Lost: no answer could be read, or the request failed. Certainty: "
        "of the run without a probe; from and to hold nine tenths of it. Seconds: median time to "
        "a reply.",
        first="Judge",
    )


class Datasheets(Section):
    """What a judge answers where nothing should decide, and what it loses and costs."""

    name = "datasheets"
    title = "Judge datasheet"
    inside = "Answers to equal, empty and commanding responses, lost replies, cost and speed"
    keys = """
        # Judge datasheet
        datasheets | list | One entry for each judge that was asked for a datasheet.
        identical | object | Answers between two equal responses.
        side_a | share | Of these, those for side A.
        side_a_ci | range | Its 95 % interval.
        identical.tie | share | Of these, ties.
        identical.tie_ci | range | Its 95 % interval.
        identical.certainty | share | Mean certainty.
        empty | object | Answers between a response and an empty one.
        empty.chosen | share | Of these, those for the empty one.
        empty.chosen_ci | range | Its 95 % interval.
        empty.certainty | share | Mean certainty.
        other_persona | object | Answers with the profile of another persona.
        other_persona.changed | share | Of these, those that differ from the answer with the own.
        other_persona.changed_ci | range | Its 95 % interval.
        addressed | object | Answers against a response, asked again with an order in it.
        obeyed | share | Of these, those that choose it then.
        obeyed_ci | range | Its 95 % interval.
        asked | count | Judgments of the runs.
        datasheets.refused | share | Judgments that were refused.
        datasheets.refused_ci | range | Its 95 % interval.
        datasheets.lost | share | Judgments without a readable reply.
        datasheets.lost_ci | range | Its 95 % interval.
        scale | object | How the scale of certainty is used.
        scale.distinct | count | Different values.
        commonest | certainty | The commonest value.
        share_commonest | share | Its share.
        scale.from | number | A twentieth of the certainties is lower.
        scale.to | number | A twentieth of the certainties is higher.
        linked_worth | object | What the persona is worth in a linked study with other personas.
        linked_worth.study | text | The linked study.
        linked_worth.people.n | count | Items.
        linked_worth.judges.n | count | Items.
        worth | number | Accuracy with the own persona minus accuracy with another.
        worth_ci | range | Its 95 % interval.
        usd_per_1000 | number | US dollars for a thousand judgments.
        seconds | number | Median time to a reply.
    """

    def is_needed(self, report: ReportJson) -> bool:
        return "datasheets" in report or "linked_worth" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return datasheets(study) | signal_entry(study.data.of(LinkedSignal))

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "datasheets" in report:
            yield from datasheet_tables(report)
        yield from signal_tables(report)


DATASHEETS = Datasheets()
