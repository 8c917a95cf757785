"""Bias probes: the effect on judges of a change that should not matter."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from analysis.data.juries import Pairs, ProbedRun, baseline_of, pairs_of
from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    QuantityInterval,
    Text,
    clause,
    joined,
    say,
)
from analysis.report.report_json import Json, estimate, put, put_estimate, undefined, why
from analysis.report.results import Finding, TestResult, cannot_tell
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.sentences import PROBES, holds, level_of
from analysis.report.study import ReportedStudy, identity, put_holm
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import features_words, run_name
from analysis.stats.comparison.probes import (
    ProbeEffect,
    agreed,
    change_of_shift,
    credit,
    probe_effect,
)
from analysis.stats.core.results import FloatArray, IntArray

_BOTH = "both"


@dataclass(frozen=True, eq=False)
class Compared:
    """The same questions without and with a probe; arrays have one entry per question."""

    study: ReportedStudy
    probed: ProbedRun
    base: ProbedRun
    pairs: Pairs

    @cached_property
    def before(self) -> IntArray:
        return self.base.run.judgments.choice[self.pairs.second].astype(np.int64)

    @cached_property
    def after(self) -> IntArray:
        return self.probed.run.judgments.choice[self.pairs.first].astype(np.int64)

    @cached_property
    def item(self) -> IntArray:
        return self.probed.run.judgments.item[self.pairs.first]

    @cached_property
    def target(self) -> IntArray:
        return self.probed.target[self.pairs.first].astype(np.int64)

    @cached_property
    def moved(self) -> FloatArray:
        """The change in the favoured response's credit; NaN without both answers."""
        known = (self.before >= 0) & (self.after >= 0)
        change = credit(self.after, self.target) - credit(self.before, self.target)
        return np.where(known, change, np.nan)


def _entry(study: ReportedStudy, run: ProbedRun, compared: Mapping[str, Compared]) -> Json:
    rows = run.run.judgments
    entry = identity(run.run) | {
        "probe": run.probe,
        "change": run.description,
        "target": run.rule or None,
        "mitigations": list(run.mitigations),
        "skipped": int(np.unique(rows.item[rows.status == "skipped"]).size),
    }
    here = compared.get(run.run.run)
    if here is None:
        return entry | {"compared_with": None} | _nothing(run, "no_pairs")
    entry["compared_with"] = here.base.run.run
    effect = probe_effect(
        here.before,
        here.after,
        here.item,
        _clusters(study, here.item),
        target=here.target if run.rule else None,
    )
    entry |= _effect(effect)
    entry |= {"chance": _chance(study, here.base), "accuracy": _accuracy_lost(here)}
    if run.rule:
        entry["both_orders"] = _both_orders(here)
        entry["mitigated"] = _mitigated(here, compared)
    return entry


def _nothing(run: ProbedRun, reason: str) -> Json:
    out: Json = {"pairs": 0, "items": 0} | undefined(reason, "flipped", "flipped_ci")
    out |= {"chance": undefined(reason, "flipped", "ci"), "accuracy": {"n": 0}}
    out["accuracy"] |= undefined(reason, "lost", "ci")
    if run.rule:
        out |= undefined(reason, "shift", "shift_ci", "p")
        out["exact"] = {"toward": 0, "away": 0} | undefined(reason, "p")
        out["both_orders"] = {"n": 0} | undefined(reason, "shift", "ci", "decided")
        out["mitigated"] = {"n": 0} | undefined(reason, "by", "ci")
    return out


def _effect(effect: ProbeEffect) -> Json:
    out: Json = {"pairs": effect.n_pairs, "items": effect.n_items}
    put_estimate(out, "flipped", effect.flipped)
    if effect.shift is None or effect.exact is None:
        return out
    shift, exact = effect.shift, effect.exact
    put_estimate(out, "shift", shift)
    put(out, "p", shift.p, why(shift))
    out["exact"] = {"toward": exact.b, "away": exact.c}
    put(out["exact"], "p", exact.p, exact.reason)
    return out


def _chance(study: ReportedStudy, base: ProbedRun) -> Json:
    """How often two readings of the same question differ anyway."""
    rows = base.run.judgments
    if base.run.samples < 2:
        return undefined("one_sample", "flipped", "ci")
    order = np.lexsort((rows.sample, rows.shown_first, rows.item))
    one, two = order[:-1], order[1:]
    same = (rows.item[one] == rows.item[two]) & (rows.shown_first[one] == rows.shown_first[two])
    one, two = one[same], two[same]
    item = rows.item[one]
    choice = rows.choice.astype(np.int64)
    flipped = probe_effect(choice[one], choice[two], item, _clusters(study, item)).flipped
    return estimate(flipped, "flipped")


def _accuracy_lost(here: Compared) -> Json:
    """Accuracy without the probe minus accuracy with it, on the same readings."""
    truth = here.study.truth_for(here.probed.run)[here.item]
    known = np.flatnonzero((here.before >= 0) & (here.after >= 0) & (truth >= 0))
    right = ((here.before == truth).astype(np.float64) - (here.after == truth))[known]
    item = here.item[known]
    lost = change_of_shift(right, np.zeros_like(right), item, _clusters(here.study, item))
    return {"n": int(known.size)} | estimate(lost, "lost")


def _both_orders(here: Compared) -> Json:
    """The shift of verdicts that count only if both orders agree, with half credit otherwise."""
    keys = ("shift", "ci", "decided")
    if here.probed.is_by_side:
        return {"n": 0} | undefined("target_by_side", *keys)
    if here.probed.run.orders != _BOTH or here.base.run.orders != _BOTH:
        return {"n": 0} | undefined("one_order", *keys)
    n = len(here.study.data.items)
    order = here.probed.run.judgments.shown_first[here.pairs.first].astype(np.int64)
    before, after = (agreed(side, here.item, order, n) for side in (here.before, here.after))
    target = np.zeros(n, dtype=np.int64)
    target[here.item] = here.target
    items = np.flatnonzero((before >= 0) & (after >= 0))
    effect = probe_effect(
        before[items],
        after[items],
        items,
        _clusters(here.study, items),
        target=target[items],
    )
    assert effect.shift is not None  # noqa: S101 - there is a target
    out: Json = {"n": int(items.size)} | estimate(effect.shift, "shift")
    decided = float((after[items] < 2).mean()) if items.size else None
    put(out, "decided", decided)
    return out


def _mitigated(here: Compared, compared: Mapping[str, Compared]) -> Json:
    """How much a mitigation reduces the same probe's shift."""
    if not here.probed.mitigations:
        return {"n": 0} | undefined("no_mitigation", "by", "ci")
    candidates = [other.probed for other in compared.values()]
    plain = baseline_of(here.probed, candidates, here.probed.probe)
    if plain is None:
        return {"n": 0} | undefined("no_pairs", "by", "ci")
    other = compared[plain.run.run]
    mine, theirs = (side.probed.run for side in (here, other))
    shared = pairs_of(mine, theirs)
    moved = [np.full(len(run.judgments), np.nan) for run in (mine, theirs)]
    for values, side in zip(moved, (here, other), strict=True):
        values[side.pairs.first] = side.moved
    first, second = moved[1][shared.second], moved[0][shared.first]
    item = mine.judgments.item[shared.first]
    change = change_of_shift(first, second, item, _clusters(here.study, item))
    return {"n": change.n} | estimate(change, "by")


def _positions(study: ReportedStudy) -> list[Json]:
    """The effect of being shown first, for every baseline that asked in both orders."""
    entries = []
    for run in study.data.probes:
        if run.probe or run.run.orders != _BOTH:
            continue
        rows = run.run.judgments
        first, second = (np.flatnonzero(rows.shown_first == order) for order in (0, 1))
        here, there = (rows.item[at] * 1_000 + rows.sample[at] for at in (first, second))
        _, one, two = np.intersect1d(here, there, assume_unique=True, return_indices=True)
        choice = rows.choice.astype(np.int64)
        # Response 1 moves from side B to side A.
        item = rows.item[first[one]]
        effect = probe_effect(
            choice[second[two]],
            choice[first[one]],
            item,
            _clusters(study, item),
            target=np.zeros(item.size, dtype=np.int64),
        )
        mitigations = {"mitigations": list(run.mitigations)}
        entries.append(identity(run.run) | mitigations | _effect(effect))
    return entries


def _clusters(study: ReportedStudy, item: IntArray) -> dict[str, IntArray]:
    return {
        "persona": study.shared.persona[item],
        "question": study.shared.question[item],
    }


def _adjust(entries: Sequence[Json]) -> None:
    """Adjust p over the probes of responses of all runs; mitigated ones are separate families.

    A run of the same probe in another setting, or by another judge, is one more chance to find
    something.
    """
    families: dict[tuple[Any, ...], list[Json]] = {}
    for entry in entries:
        if entry["target"] is not None:
            families.setdefault(tuple(entry["mitigations"]), []).append(entry)
    for members in families.values():
        put_holm(members)
        for entry in members:
            entry["family"] = len(members)


def _labelled(entries: Iterable[ReportJson]) -> list[tuple[str, ReportJson]]:
    return [
        (
            entry["judge"],
            {
                **entry,
                "after": " and ".join(entry["mitigations"]) or "none",
                "features": features_words(entry["features"]),
            },
        )
        for entry in entries
    ]


def probes_table(report: ReportJson) -> Table:
    entries = [entry for entry in report.get("bias", {}).get("probes", ()) if entry["target"]]
    return table_of_entries(
        "bias_probes",
        "Probes that favour a response",
        _labelled(entries),
        [
            ("Setting", "text", "setting"),
            ("Probe", "text", "probe"),
            ("Mitigation", "text", "after"),
            ("Items", "count", "items"),
            ("Pairs", "count", "pairs"),
            ("Flipped", "percent", "flipped"),
            ("95 % interval", "percent_range", "flipped_ci"),
            ("Shift", "points", "shift", "Towards the favoured response"),
            ("95 % interval", "points_range", "shift_ci", "Towards the favoured response"),
            ("p", "p", "p", "Towards the favoured response"),
            ("Holm p", "p", "p_holm", "Towards the favoured response"),
            ("towards", "count", "exact.toward", "Items that moved"),
            ("away", "count", "exact.away", "Items that moved"),
            ("McNemar p", "p", "exact.p", "Items that moved"),
            ("Shift", "points", "both_orders.shift", "Verdict only if both orders agree"),
            ("95 %", "points_range", "both_orders.ci", "Verdict only if both orders agree"),
            ("Decided", "percent", "both_orders.decided", "Verdict only if both orders agree"),
            ("Less by", "points", "mitigated.by", "Reduction by the mitigation"),
            ("95 %", "points_range", "mitigated.ci", "Reduction by the mitigation"),
            ("Random flips", "percent", "chance.flipped"),
            ("Accuracy lost", "points", "accuracy.lost"),
            ("95 %", "points_range", "accuracy.ci", "Accuracy"),
        ],
        "Each run with a probe compared with the same judge’s run without it, question by "
        "question. The probe favours one response of each item. Shift: how much more often that "
        "response is chosen; 0 if the probe changes nothing. Its interval and p treat items, "
        "personas and questions as samples; McNemar’s p treats items as independent. Holm: "
        "adjusted over all runs’ probes with the same mitigation. Random flips: how often two "
        "readings of the same prompt differ, if items were asked several times.",
        first="Judge",
    )


def position_table(report: ReportJson) -> Table:
    return table_of_entries(
        "bias_position",
        "Position as a probe",
        _labelled(report.get("bias", {}).get("position", ())),
        [
            ("Setting", "text", "setting"),
            ("Mitigation", "text", "after"),
            ("Items", "count", "items"),
            ("Flipped", "percent", "flipped"),
            ("95 % interval", "percent_range", "flipped_ci"),
            ("Shift to side A", "points", "shift"),
            ("95 % interval", "points_range", "shift_ci"),
            ("p", "p", "p"),
            ("McNemar p", "p", "exact.p"),
        ],
        "Runs without a probe, in both orders. Shift: how much more often a response is chosen on "
        "side A than on side B.",
        first="Judge",
    )


def personas_table(report: ReportJson) -> Table:
    entries = [entry for entry in report.get("bias", {}).get("probes", ()) if not entry["target"]]
    return table_of_entries(
        "persona_probes",
        "Whether judges follow a change in the persona",
        _labelled(entries),
        [
            ("Setting", "text", "setting"),
            ("Probe", "text", "probe"),
            ("Change", "text", "change"),
            ("Mitigation", "text", "after"),
            ("Items", "count", "items"),
            ("Not applicable", "count", "skipped"),
            ("Follow", "percent", "flipped"),
            ("95 % interval", "percent_range", "flipped_ci"),
            ("Random flips", "percent", "chance.flipped"),
            ("Accuracy lost", "points", "accuracy.lost"),
            ("95 % interval", "points_range", "accuracy.ci"),
        ],
        "Follow: the share of readings whose choice changes with the persona. It includes "
        "chance: compare it with the random flips, which need several samples. Accuracy is that "
        "of the unchanged persona’s own answers. Not applicable: items whose persona lacks what "
        "the probe changes.",
        first="Judge",
    )


class Probes(Section):
    """Probes of judges' biases and of their use of the persona."""

    name = "bias_probes"

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty for a study without probes."""
        probes = study.data.probes
        compared: dict[str, Compared] = {}
        changed = [run for run in probes if run.probe and run.own is None and not run.is_control]
        for run in changed:
            if (base := baseline_of(run, probes, run.baseline)) is not None:
                compared[run.run.run] = Compared(study, run, base, pairs_of(run.run, base.run))
        entries = [_entry(study, run, compared) for run in changed]
        if not entries:
            return {}
        _adjust(entries)
        return {"bias": {"probes": entries, "position": _positions(study)}}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield probes_table(report)
        yield position_table(report)
        yield personas_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for tests in probe_tests(report).values():
            yield Sentence("finding", _words(tests))


@dataclass(frozen=True)
class ProbeTest:
    """Whether a judge moves towards the response that a probe favours; without a test, None."""

    judge: Name
    probe: Name
    result: TestResult | None


def probe_tests(report: ReportJson) -> dict[str, list[ProbeTest]]:
    """The tests by judge, setting and features; those with a mitigation are in tables only."""
    tests: dict[str, list[ProbeTest]] = {}
    level = level_of(report, PROBES)
    for place, entry in enumerate(report.get("bias", {}).get("probes", ())):
        if entry["target"] and not entry["mitigations"]:
            result, path = None, f"bias.probes.{place}"
            if entry["p_holm"] is not None:
                of = Population("item", n=entry["items"], path=f"{path}.items")
                interval = QuantityInterval.at(entry, "shift_ci", path)
                shift = Quantity("points", of, entry["shift"], f"{path}.shift", interval)
                result = TestResult(shift, holds(entry, level, "p_holm"))
            base = {**entry, "run": entry["compared_with"] or entry["run"]}
            name = run_name(base, report["judges"])
            tests.setdefault(name, []).append(ProbeTest(Name(name), Name(entry["probe"]), result))
    return tests


def _words(tests: Sequence[ProbeTest]) -> Text:
    judge, known = tests[0].judge, [test for test in tests if test.result is not None]
    if not known:
        return say(
            "{judge}: too few items, personas or questions to test {probes}.",
            judge=judge,
            probes=Population("probe", n=len(tests)),
        )
    tested = Population("probe", "tested", len(known))
    parts = [
        clause(
            f"{verb} {{n}} of {{n.of}} ({{probes}})",
            n=Quantity("count", tested, len(moved)),
            probes=joined([_moved(test.probe, test.result) for test in moved if test.result]),
        )
        for finding, verb in ((Finding.ABOVE, "follows"), (Finding.BELOW, "moves away from"))
        if (moved := [test for test in known if test.result and test.result.finding is finding])
    ]
    if parts:
        return say("{judge} {parts}.", judge=judge, parts=joined(parts))
    what = clause("the probe {probe}", probe=known[0].probe)
    if len(known) > 1:
        what = clause("any of the {tested}", tested=tested)
    return say(
        "{open}.", open=cannot_tell(clause("{judge} follows {what}", judge=judge, what=what))
    )


def _moved(probe: Name, result: TestResult) -> Text:
    return clause("{probe} by {x} points on {x.of}", probe=probe, x=result.value)
