"""Systems compared by people and judges: win rates, strengths and agreement of rankings."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from analysis.data.arrays import MISSING
from analysis.data.verdicts import Ints
from analysis.report.quantities import Name, Population, Quantity, Slot, Text, Words, bare, say
from analysis.report.report_json import Json, put, put_estimate
from analysis.report.section import ReportJson, ReportPage, Section, Sentence
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import reason, run_name
from analysis.stats.core.results import Estimate
from analysis.stats.core.shared_variance import Sharing
from analysis.stats.systems.ranking import ranking_agreement
from analysis.stats.systems.strengths import system_strengths
from analysis.stats.systems.win_rates import Contests, win_rates
from extras.estimation.items import MIN_CONTESTS, SystemsOfItems
from extras.estimation.stats.corrected import corrected_win_rates

PEOPLE, OWN = "people", "own"
WORDS = {PEOPLE: "Majority of people", OWN: "Own answers"}
IN_SENTENCES = {PEOPLE: "the majority of annotators", OWN: "own answers"}


def systems(study: ReportedStudy, certificates: Sequence[ReportJson] | None) -> Json:
    """The entry of report.json; empty for a study whose items do not compare named systems.

    `certificates` has each run's certified threshold, in the order of the runs; None where nothing
    is certified.
    """
    of_items = study.data.of(SystemsOfItems)
    if of_items is None:
        return {}
    contests = Contests.of(of_items.first, of_items.second)
    shared = study.shared
    own = study.data.truth.astype(np.int64)

    def judged(answer: Ints) -> Json:
        return _side(of_items.names, contests, answer, shared.judged) | {
            "against": {
                PEOPLE: _against(
                    study, of_items.names, contests, answer, study.people.answer, PEOPLE
                ),
                OWN: _against(study, of_items.names, contests, answer, own, OWN),
            }
        }

    judges = []
    for place, (run, judge) in enumerate(zip(study.data.runs, study.judges, strict=True)):
        entry = identity(run) | judged(judge.answer)
        threshold = certificates[place]["threshold"] if certificates else None
        if threshold is not None:
            accepted = np.where(judge.certainty >= threshold, judge.answer, MISSING)
            entry["accepted"] = {"threshold": threshold} | judged(accepted.astype(np.int64))
        judges.append(entry)
    return {
        "systems": {
            "names": list(of_items.names),
            "items": int((of_items.first >= 0).sum()),
            "few": list(of_items.few),
            PEOPLE: _side(of_items.names, contests, study.people.answer, shared.items),
            OWN: _side(of_items.names, contests, own, shared.judged),
            "judges": judges,
        }
    }


def _side(names: Sequence[str], contests: Contests, choice: Ints, sharing: Sharing) -> Json:
    """Win rates and strengths from one side's answers."""
    rates = win_rates(contests, choice, sharing)
    model = system_strengths(contests, choice, sharing)
    values = [estimate.value for estimate in model.strengths]
    entries = []
    for name, rate, strength in zip(names, rates, model.strengths, strict=True):
        entry: Json = {"system": name, "n": rate.n, "wins": rate.wins, "ties": rate.ties}
        put_estimate(entry, "rate", rate.rate)
        put_estimate(entry, "strength", strength)
        place = None
        if strength.value is not None:
            place = 1 + sum(other is not None and other > strength.value for other in values)
        put(entry, "place", place, strength.reason)
        entries.append(entry)
    return {"n": model.n, "ties": model.n_ties, "systems": entries}


def _against(
    study: ReportedStudy,
    names: Sequence[str],
    contests: Contests,
    answer: Ints,
    reference: Ints,
    which: str,
) -> Json:
    """A judge's win rates corrected for its errors, and its ranking, against a reference."""
    by_people = which == PEOPLE
    sharing = study.shared.items if by_people else study.shared.judged
    corrected = corrected_win_rates(contests, answer, reference, sharing)
    rates = [
        {"system": name} | _estimate("rate", rate)
        for name, rate in zip(names, corrected.rates, strict=True)
    ]
    clusters = study.shared.of_items(np.arange(len(study.data.items)), by_people=by_people)
    ranking = ranking_agreement(
        contests, reference, answer, clusters, n_draws=study.draws, rng=study.rng()
    )
    agreement: Json = {"n": ranking.n, "draws": ranking.n_draws}
    agreement |= _estimate("kendall", ranking.kendall) | _estimate("spearman", ranking.spearman)
    for key in ("same_top", "same_order"):
        put(agreement, key, getattr(ranking, key), ranking.resampled_reason)
    for key, places in (("top", ranking.first_top), ("judge_top", ranking.second_top)):
        agreement[key] = [names[place] for place in places]
    out: Json = {"n": corrected.n, "n_both": corrected.n_both}
    out |= _estimate("accuracy", corrected.accuracy)
    return out | {"systems": rates, "ranking": agreement}


def _estimate(key: str, estimate: Estimate) -> Json:
    out: Json = {}
    put_estimate(out, key, estimate)
    return out


def _named(report: ReportJson) -> list[tuple[str, ReportJson]]:
    return [(run_name(entry, report["judges"]), entry) for entry in report["judges"]]


def rates_table(report: ReportJson) -> Table:
    sides = [(WORDS[key], report[key]) for key in (PEOPLE, OWN)] + _named(report)
    return table_of_entries(
        "system_rates",
        "Win rates and strengths of systems",
        [(who, entry) for who, side in sides if side["n"] for entry in side["systems"]],
        [
            ("System", "text", "system"),
            ("Items", "count", "n"),
            ("Won", "count", "wins"),
            ("Ties", "count", "ties"),
            ("Estimate", "percent", "rate", "Win rate"),
            ("95 % interval", "percent_range", "rate_ci", "Win rate"),
            ("Estimate", "decimal", "strength", "Strength"),
            ("95 % interval", "range", "strength_ci", "Strength"),
            ("Place", "count", "place"),
        ],
        "A tie is half a win. The win rate depends on the opponents that a system met. The "
        "strength does not: it is the logarithm in Bradley and Terry’s model (Davidson’s if "
        "there are ties), with mean 0. Strengths are undefined if some systems never lose to the "
        "others, or never meet them.",
        first="Who",
    )


def corrected_table(report: ReportJson) -> Table:
    rows = []
    for who, judge in _named(report):
        against = judge["against"]
        for place, entry in enumerate(judge["systems"]):
            corrected = {key: against[key]["systems"][place] for key in (PEOPLE, OWN)}
            rows.append((who, {**entry, **corrected}))
    return table_of_entries(
        "system_rates_corrected",
        "Win rates of judges, corrected for their errors",
        rows,
        [
            ("System", "text", "system"),
            ("Items", "count", "n"),
            ("Estimate", "percent", "rate", "As judged"),
            ("95 % interval", "percent_range", "rate_ci", "As judged"),
            ("Estimate", "percent", "people.rate", "Corrected by agreement with annotators"),
            (
                "95 % interval",
                "percent_range",
                "people.rate_ci",
                "Corrected by agreement with annotators",
            ),
            ("Estimate", "percent", "own.rate", "Corrected by agreement with own answers"),
            (
                "95 % interval",
                "percent_range",
                "own.rate_ci",
                "Corrected by agreement with own answers",
            ),
        ],
        "Errors pull every win rate towards one half; the correction reverses this (Rogan and "
        "Gladen). It assumes that a judge errs equally often whichever system wrote the better "
        "response, and does not correct a preference for a system. There is no correction if the "
        "judge may be no better than chance. Intervals include the uncertainty about the errors.",
        first="Judge",
    )


def rankings_table(report: ReportJson) -> Table:
    rows = [
        (who, {**judge["against"][key], "whose": WORDS[key], **_tops(judge["against"][key])})
        for who, judge in _named(report)
        for key in (PEOPLE, OWN)
        if judge["against"][key]["n_both"]
    ]
    return table_of_entries(
        "system_rankings",
        "Whether judges rank systems as people do",
        rows,
        [
            ("Compared with", "text", "whose"),
            ("Estimate", "percent", "accuracy", "Same choice"),
            ("95 % interval", "percent_range", "accuracy_ci", "Same choice"),
            ("Items", "count", "ranking.n"),
            ("Estimate", "decimal", "ranking.kendall", "Kendall’s τ"),
            ("95 % interval", "range", "ranking.kendall_ci", "Kendall’s τ"),
            ("Estimate", "decimal", "ranking.spearman", "Spearman’s ρ"),
            ("95 % interval", "range", "ranking.spearman_ci", "Spearman’s ρ"),
            ("First by the judge", "text", "judge_top"),
            ("First by the others", "text", "top"),
            ("First place", "percent", "ranking.same_top", "Same in resamples"),
            ("Whole order", "percent", "ranking.same_order", "Same in resamples"),
        ],
        "Rankings by strength, on the items that both sides decided. Resamples draw what the "
        "items share (personas, questions, groups of annotators) and include the uncertainty of "
        "both sides: systems of similar strength swap places.",
        first="Judge",
    )


def accepted_table(report: ReportJson) -> Table:
    """Each judge's win rates and rankings above its certified threshold."""
    rows = []
    for who, judge in _named(report):
        if "accepted" not in judge:
            continue
        accepted = judge["accepted"]
        against = accepted["against"][PEOPLE]
        for place, entry in enumerate(accepted["systems"]):
            more = {
                "threshold": accepted["threshold"],
                "all": judge["systems"][place],
                "people": against["systems"][place],
                "others": _rank_of(report[PEOPLE]["systems"], place),
            }
            rows.append((who, entry | more))
    return table_of_entries(
        "system_accepted",
        "Systems among the items that a certified judge is sure of",
        rows,
        [
            ("System", "text", "system"),
            ("From certainty", "count", "threshold"),
            ("Accepted", "count", "n", "Items"),
            ("All", "count", "all.n", "Items"),
            ("Estimate", "percent", "rate", "Win rate"),
            ("95 % interval", "percent_range", "rate_ci", "Win rate"),
            ("Corrected", "percent", "people.rate", "Win rate"),
            ("95 % interval", "percent_range", "people.rate_ci", "Win rate"),
            ("On all items", "percent", "all.rate", "Win rate"),
            ("Here", "count", "place", "Place"),
            ("By annotators, all items", "count", "others", "Place"),
        ],
        "Items on which the judge’s certainty reaches its certified threshold, corrected by "
        "agreement with annotators on such items. If a system is easier to judge or wins more "
        "often where the judge is sure, its win rate here differs from that on all items. The "
        "certificate is about single answers, not about win rates or ranks.",
        first="Judge",
    )


def _rank_of(systems: Sequence[ReportJson], place: int) -> int | None:
    rank: int | None = systems[place]["place"]
    return rank


def _tops(entry: ReportJson) -> Json:
    ranking = entry["ranking"]
    return {key: ", ".join(ranking[key]) or None for key in ("top", "judge_top")}


class Systems(Section):
    """Win rates and rankings of the systems that wrote the responses."""

    name = "systems"
    title = "Systems compared by judges"
    inside = "Win rates, corrected win rates, and rankings"
    keys = """
systems | object or list | Rankings of the systems that wrote the responses.
names | list | Names of systems.
system | text | Name of the system.
wins | count | Comparisons that the system won.
rate | share | Share of comparisons won, ties as half.
strength | number | Strength in Bradley and Terry's model.
systems.place | count | Place in the ranking.
against | object or text | Compared with people and with the personas' own answers.
n_both | count | Items that both sides decided.
ranking | object | How similar the rankings are.
same_top | share | Resamples in which both have the same top system.
same_order | share | Resamples in which both have the same order.
top | list | Systems at the top.
judge_top | list | Systems at the judge's top.
"""
    needs = ("certified",)

    def is_needed(self, report: ReportJson) -> bool:
        return "systems" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return systems(study, earlier.get("selective"))

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "systems" in report:
            chapter = report["systems"]
            yield rankings_table(chapter)
            yield rates_table(chapter)
            yield corrected_table(chapter)
            yield accepted_table(chapter)

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        names = ("system_rankings", "system_rates", "system_rates_corrected", "system_accepted")
        return {
            "system_tables": [page.tables[name] for name in names if name in page.tables],
            "least": MIN_CONTESTS,
        }

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        if "systems" not in report or not report["systems"]["judges"]:
            return
        judges = _named(report["systems"])
        # Without annotators' answers, compare with own answers.
        which = PEOPLE if any(entry["against"][PEOPLE]["n_both"] for _, entry in judges) else OWN
        ranked = [(who, entry["against"][which]["ranking"]) for who, entry in judges]
        others = IN_SENTENCES[which]
        known = [(who, entry) for who, entry in ranked if entry["same_top"] is not None]
        if known:
            yield Sentence("finding", _finding(known, Words(others)))
        else:
            why = reason(ranked[0][1]["same_top_reason"])
            words = f"Systems: rankings by judges and by {others} are not compared: {why}."
            yield Sentence.of("missing", words)
        for who, entry in judges:
            if "accepted" in entry:
                yield Sentence("finding", _among_accepted(who, entry["accepted"], which))


def _among_accepted(who: str, accepted: ReportJson, which: str) -> Text:
    """How often judge and people have the same ranking, where the judge is sure."""
    ranking = accepted["against"][which]["ranking"]
    of = Population("item", n=ranking["n"])
    slots: dict[str, Slot] = {
        "of": of,
        "who": Name(who),
        "others": Words(IN_SENTENCES[which]),
        "t": Quantity("certainty", None, accepted["threshold"]),
    }
    on = "On the {of} that both decided at a certainty of {who} of at least {t}, the "
    if ranking["same_top"] is None:
        why = bare(reason(ranking["same_top_reason"]))
        return say(f"{on}ranking cannot be compared: {{why}}.", why=why, **slots)
    return say(
        f"{on}first places by that run and by {{others}} are the same in {{top}} of resamples, the "
        "whole order in {order}.",
        top=Quantity("rate", of, ranking["same_top"]),
        order=Quantity("rate", of, ranking["same_order"]),
        **slots,
    )


def _finding(known: Sequence[tuple[str, ReportJson]], others: Words) -> Text:
    """How often both rankings have the same first place. Which system is first is not a finding."""
    shares = [
        Quantity("rate", Population("item", n=ranking["n"]), ranking["same_top"])
        for _, ranking in known
    ]
    if len(known) == 1:
        return say(
            "On the {x.of} that both decided, the first places by {who} and by {others} are the "
            "same in {x} of resamples.",
            who=Name(known[0][0]),
            others=others,
            x=shares[0],
        )
    return say(
        "The first places by each of {n} and by {others}, on the items that both decided, are the "
        "same in {low} (on {low.of}) to {high} (on {high.of}) of resamples.",
        n=Population("run", n=len(known)),
        others=others,
        low=min(shares, key=lambda share: share.value),
        high=max(shares, key=lambda share: share.value),
    )


SYSTEMS = Systems()
