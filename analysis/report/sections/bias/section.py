"""The chapter on biases of judges, and whether they prefer their own responses."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from analysis.data.arrays import MISSING
from analysis.data.juries import OwnSides, ProbedRun
from analysis.data.verdicts import Ints, run_verdicts
from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    QuantityInterval,
    Text,
    Words,
    capitalised,
    clause,
    say,
)
from analysis.report.report_json import Json, cell, tested
from analysis.report.results import Finding, TestResult, by_chance, cannot_tell
from analysis.report.section import ReportJson, ReportPage, Section, Sentence
from analysis.report.sections.bias.probes import Probes
from analysis.report.sentences import OWN, holds, level_of
from analysis.report.study import ReportedStudy, identity, put_holm
from analysis.report.tables import Table, table_of_entries
from analysis.stats.comparison.probes import own_preference
from analysis.stats.core.shared_variance import Sharing

GOLD = {"own": "Own answers", "people": "Majority of people"}


def _entry(study: ReportedStudy, run: ProbedRun, own: OwnSides) -> Json:
    answer = run_verdicts(study.data, run.run).answer
    sides = own.side.astype(np.int64)
    # A tie is for neither response.
    return (
        identity(run.run)
        | {"mitigations": list(run.mitigations), "sources": list(own.sources)}
        | {"items": int((sides >= 0).sum())}
        | {
            "own": _against(answer, study.data.truth.astype(np.int64), sides, study.shared.judged),
            "people": _against(answer, study.people.answer, sides, study.shared.items),
        }
    )


def _against(answer: Ints, gold: Ints, sides: Ints, sharing: Sharing) -> Json:
    judge, truth = (_chose_own(choice, sides) for choice in (answer, gold))
    preference = own_preference(judge, truth, sharing)
    out: Json = {"n": preference.n}
    for key, share in (
        ("chosen", preference.chosen),
        ("gold", preference.gold),
        ("missed", preference.missed),
        ("taken", preference.taken),
    ):
        out[key] = cell(share, "value")
    for key, difference in (("dbg", preference.dbg), ("bias", preference.bias)):
        out[key] = tested(difference)
    return out


def _chose_own(choice: Ints, sides: Ints) -> Ints:
    """1 own, 0 the other response, -1 neither, or not exactly one own response."""
    known = (sides >= 0) & (choice >= 0) & (choice < 2)
    return np.where(known, (choice == sides).astype(np.int64), MISSING)


def own_table(report: ReportJson) -> Table:
    rows = [
        (
            entry["judge"],
            entry[key]
            | {
                "setting": entry["setting"],
                "after": " and ".join(entry["mitigations"]) or "none",
                "sources": ", ".join(entry["sources"]),
                "against": words,
            },
        )
        for entry in report.get("bias", {}).get("own", ())
        for key, words in GOLD.items()
        if entry[key]["n"]
    ]
    return table_of_entries(
        "own_responses",
        "Whether judges prefer their own responses",
        rows,
        [
            ("Setting", "text", "setting"),
            ("Mitigation", "text", "after"),
            ("Own responses by", "text", "sources"),
            ("Compared with", "text", "against"),
            ("Pairs", "count", "n"),
            ("Judge", "percent", "chosen.value", "Chooses the judge’s own"),
            ("Compared with", "percent", "gold.value", "Chooses the judge’s own"),
            ("DBG", "points", "dbg.value", "Chooses the judge’s own"),
            ("95 %", "points_range", "dbg.ci", "Chooses the judge’s own"),
            ("Own is wrongly chosen", "percent", "taken.value", "Errors"),
            ("Own is wrongly not chosen", "percent", "missed.value", "Errors"),
            ("Difference", "points", "bias.value", "Errors"),
            ("95 % interval", "points_range", "bias.ci", "Errors"),
            ("p", "p", "bias.p", "Errors"),
            ("Holm p", "p", "bias.p_holm", "Errors"),
        ],
        "Items with exactly one response of the judge’s own. DBG: how much more often the judge "
        "chooses it than the reference does. If own responses are not right on half of the "
        "pairs, random errors also produce a DBG. So look at the errors: own responses wrongly "
        "chosen (the other is right) compared with own responses wrongly not chosen. A "
        "difference above 0 favours the judge’s own. Holm: over the runs of this table.",
        first="Judge",
    )


class OwnResponsesSection(Section):
    """Self-preference of runs about items with the judge's own responses."""

    name = "own_responses"

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entries of report.json; empty for a study without such runs."""
        entries = [_entry(study, run, run.own) for run in study.data.probes if run.own is not None]
        if not entries:
            return {}
        for key in GOLD:
            put_holm([entry[key]["bias"] for entry in entries])
        return {"bias": {"own": entries}}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield own_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for place, entry in enumerate(report.get("bias", {}).get("own", ())):
            key = "own" if entry["own"]["n"] else "people"
            if entry[key]["n"]:
                yield Sentence("finding", _words(report, entry, f"bias.own.{place}", key))


def _words(report: ReportJson, entry: ReportJson, path: str, key: str) -> Text:
    """How often a judge chooses its own response, and whether its errors favour it."""
    preference, path = entry[key], f"{path}.{key}"
    pairs = Population("pair", "with one response of its own", preference["n"], path=f"{path}.n")
    shares = {
        name: Quantity("share", pairs, preference[name]["value"], f"{path}.{name}.value")
        for name in ("chosen", "gold")
    }
    counted = clause(
        "on {pairs}, {judge} chooses it in {chosen} and {others} in {gold}, a difference of {dbg} "
        "points",
        pairs=pairs,
        judge=Name(entry["judge"]),
        others=Words("the own answers" if key == "own" else "the majority of annotators"),
        dbg=Quantity("points", pairs, preference["dbg"]["value"], f"{path}.dbg.value"),
        **shares,
    )
    bias = preference["bias"]
    if bias["value"] is None or bias["ci"] is None:
        return say(
            "{counted}. Whether its errors favour its own responses cannot be tested.",
            counted=counted,
        )
    interval = QuantityInterval.at(bias, "ci", f"{path}.bias")
    x = Quantity("points", pairs, bias["value"], f"{path}.bias.value", interval)
    result = TestResult(x, holds(bias, level_of(report, OWN), "p_holm"))
    gap = clause("{x} points, {x.interval}", x=x)
    if result.finding is Finding.OPEN:
        open_ = cannot_tell(clause("its errors favour or disfavour its own responses"))
        form = "{counted}. {open} ({gap}).{chance}"
        chance = by_chance(interval)
        return say(form, counted=counted, open=capitalised(open_), gap=gap, chance=chance)
    which = "favour" if result.finding is Finding.ABOVE else "disfavour"
    form = f"{{counted}}. Its errors {which} its own responses ({{gap}})."
    return say(form, counted=counted, gap=gap)


TABLES = ("bias_probes", "bias_position", "persona_probes", "own_responses")


class Bias(Section):
    """Probes of judges' biases, and whether they prefer their own responses."""

    name = "bias"
    title = "Bias probes"
    parts = (Probes(), OwnResponsesSection())

    def is_needed(self, report: ReportJson) -> bool:
        return not {"probes", "own"}.isdisjoint(report.get("bias", ()))

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        return {"bias_tables": [page.tables[name] for name in TABLES if name in page.tables]}
