"""The chapter on a live arena: the ranking, the draws, the money, and judges on the same pairs."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from analysis.report.report_json import Json, put, put_estimate
from analysis.report.section import Analysis, ReportJson, ReportPage, Section, Sentence
from analysis.report.sentences import fill, shown
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import count, decimal, percent, reason, run_name
from analysis.stats.systems.ranking import ranking_agreement
from analysis.stats.systems.win_rates import Contests
from extras.arena.ranking import ArenaPairs, ranked


def _met(pairs: ArenaPairs) -> list[Json]:
    """How many pairs any two systems have."""
    known = pairs.first >= 0
    both = np.sort(np.stack([pairs.first[known], pairs.second[known]]), axis=0)
    pairings, counts = np.unique(both, axis=1, return_counts=True)
    return [
        {"first": pairs.names[one], "second": pairs.names[two], "pairs": int(n)}
        for (one, two), n in zip(pairings.T, counts, strict=True)
    ]


def ranking_table(report: ReportJson) -> Table:
    sides = [("People", report["ranking"])]
    sides += [(run_name(run, report["judges"]), run["ranking"]) for run in report["judges"]]
    return table_of_entries(
        "arena_ranking",
        "Ranking of the systems",
        [(who, entry) for who, ranking in sides for entry in ranking],
        [
            ("System", "text", "system"),
            ("Answers", "count", "n"),
            ("Won", "count", "wins"),
            ("Ties", "count", "ties"),
            ("Estimate", "percent", "rate", "Win rate"),
            ("95 % interval", "percent_range", "rate_ci", "Win rate"),
            ("Estimate", "decimal", "strength", "Strength"),
            ("95 % interval", "range", "strength_ci", "Strength"),
            ("Best", "count", "best", "Place"),
            ("Worst", "count", "worst", "Place"),
        ],
        "Single answers of people, and a judge’s answer to each pair. The strength is the "
        "logarithm in Bradley and Terry’s model (Davidson’s with ties), with mean 0. The win rate "
        "depends on the opponents, which were drawn where the order was least certain: compare "
        "strengths. Places are those that intervals of strengths allow.",
        first="Who",
    )


def agreement_table(report: ReportJson) -> Table:
    return table_of_entries(
        "arena_agreement",
        "Whether judges rank the systems as people do",
        [(run_name(run, report["judges"]), run) for run in report["judges"]],
        [
            ("Pairs", "count", "n_both"),
            ("Estimate", "decimal", "kendall", "Kendall’s τ"),
            ("95 % interval", "range", "kendall_ci", "Kendall’s τ"),
            ("First place", "percent", "same_top", "Same in resamples"),
            ("Whole order", "percent", "same_order", "Same in resamples"),
        ],
        "On the pairs that the majority of people and the judge both decided.",
        first="Judge",
    )


def draws_table(report: ReportJson) -> Table:
    return table_of_entries(
        "arena_draws",
        "How many pairs any two systems have",
        [(entry["first"], entry) for entry in report["met"]],
        [("Second", "text", "second"), ("Pairs", "count", "pairs")],
        first="First",
        is_record=True,
    )


def costs_table(report: ReportJson) -> Table:
    return table_of_entries(
        "arena_costs",
        "What each system wrote, and its cost",
        [(entry["system"], entry) for entry in report["systems"]],
        [
            ("Responses", "count", "written"),
            ("Not usable", "count", "failed"),
            ("US dollars", "decimal", "spent"),
        ],
        "Not usable: empty, too long, a refusal, with a phrase that the study forbids, or no "
        "reply. Its pair was dropped: the ranking is about questions that both systems answered.",
        first="System",
        is_record=True,
    )


class ArenaChapter(Section):
    """The ranking of systems by the people of a live arena."""

    name = "arena"
    title = "Live arena"
    inside = "Ranking, draws and cost"
    analyses = (
        Analysis(
            "arena",
            tables=("arena_ranking", "arena_agreement"),
            paths=("arena",),
            uses=("resamples",),
        ),
    )
    keys = """
arena | object | Systems that answered while people took part.
arena.pairs | count | Items that the arena wrote.
arena.dropped | count | Pairs without two usable responses.
arena.answers | count | People's answers to the arena's items.
spent | number | US dollars.
arena.ranking | list | Systems that met, the strongest first, by people's single answers.
arena.met | list | How many pairs any two systems have.
met.first | text | A system.
met.second | text | Another system.
met.pairs | count | Their pairs.
arena.systems | list | What each system wrote.
written | count | Usable responses.
failed | count | Responses that were not usable.
best | count | Best place that the run may have.
worst | count | Worst place that the run may have.
"""

    def is_needed(self, report: ReportJson) -> bool:
        return "arena" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty without pairs of an arena."""
        pairs = study.data.of(ArenaPairs)
        if pairs is None:
            return {}
        votes = study.votes
        is_pair = pairs.first[votes.item] >= 0
        item = votes.item[is_pair]
        ranking = ranked(
            pairs.names,
            pairs.first[item],
            pairs.second[item],
            votes.choice[is_pair].astype(np.int64),
            study.shared.answers.take(is_pair),
        )
        contests = Contests(pairs.first, pairs.second, len(pairs.names))
        clusters = study.shared.of_items(np.arange(len(study.data.items)), by_people=True)
        judges = []
        for run, judge in zip(study.data.runs, study.judges, strict=True):
            both = (pairs.first >= 0) & (study.people.answer >= 0) & (judge.answer >= 0)
            same = ranking_agreement(
                contests, study.people.answer, judge.answer, clusters, n_draws=study.draws,
                rng=study.rng(),
            )  # fmt: skip
            entry = identity(run) | {"n_both": int(both.sum())}
            put_estimate(entry, "kendall", same.kendall)
            for key in ("same_top", "same_order"):
                put(entry, key, getattr(same, key), same.resampled_reason)
            decided = pairs.first[judge.answer >= 0] >= 0
            rows = np.flatnonzero(judge.answer >= 0)[decided]
            entry["ranking"] = ranked(
                pairs.names,
                pairs.first[rows],
                pairs.second[rows],
                judge.answer[rows].astype(np.int64),
                study.shared.judged.take(rows),
            )
            judges.append(entry)
        return {
            "arena": {
                "pairs": int((pairs.first >= 0).sum()),
                "dropped": pairs.dropped,
                "answers": int(is_pair.sum()),
                "spent": sum(cost["spent"] for cost in pairs.costs),
                "ranking": ranking,
                "met": _met(pairs),
                "systems": list(pairs.costs),
                "judges": judges,
            }
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "arena" in report:
            arena = report["arena"]
            yield ranking_table(arena)
            if arena["judges"]:
                yield agreement_table(arena)
            yield draws_table(arena)
            yield costs_table(arena)

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        names = ("arena_ranking", "arena_agreement", "arena_draws", "arena_costs")
        return {"arena_tables": [page.tables[name] for name in names if name in page.tables]}

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        if "arena" not in report:
            return
        arena = report["arena"]
        yield Sentence(
            "methods",
            fill(
                "{pairs} pairs of responses were written while people took part, for ${spent}; "
                "{dropped} were dropped because they had no two usable and different responses. "
                "Pairs of systems were drawn where their order was least certain.",
                pairs=shown(count(arena["pairs"]), "arena.pairs"),
                spent=shown(f"{arena['spent']:.2f}", "arena.spent"),
                dropped=shown(count(arena["dropped"]), "arena.dropped"),
            ),
        )
        ranking = arena["ranking"]
        if not ranking:
            yield Sentence.of("missing", "Live arena: no two systems have met in an answer yet.")
        elif ranking[0]["worst"] is None:
            why = reason(ranking[0]["worst_reason"])
            yield Sentence.of("missing", f"Live arena: the systems have no places, because {why}.")
        else:
            yield _first_places(arena)
        for number_of_run, run in enumerate(arena["judges"]):
            if run["same_top"] is not None:
                yield _same_top(run, number_of_run, arena)


def _first_places(report: ReportJson) -> Sentence:
    """Which systems may be first, by the intervals."""
    first = [(at, entry) for at, entry in enumerate(report["ranking"]) if entry["best"] == 1]
    if len(first) == 1:
        [(at, entry)] = first
        return Sentence(
            "finding",
            fill(
                "People’s answers ({answers}) put {system} first, with a strength of {strength}: "
                "its interval is above that of every other system.",
                answers=shown(count(report["answers"]), "arena.answers"),
                system=entry["system"],
                strength=shown(decimal(entry["strength"]), f"arena.ranking.{at}.strength"),
            ),
        )
    return Sentence(
        "finding",
        fill(
            "People’s answers ({answers}) cannot tell which system is first: {n} of {all} may be, "
            "by their intervals.",
            answers=shown(count(report["answers"]), "arena.answers"),
            n=len(first),
            all=len(report["ranking"]),
        ),
    )


def _same_top(run: ReportJson, at: int, report: ReportJson) -> Sentence:
    return Sentence(
        "finding",
        fill(
            "On {n} pairs of the arena, the first places by {judge} and by the majority of people "
            "are the same in {share} of resamples.",
            n=shown(count(run["n_both"]), f"arena.judges.{at}.n_both"),
            judge=run_name(run, report["judges"]),
            share=shown(percent(run["same_top"]), f"arena.judges.{at}.same_top"),
        ),
    )


CHAPTER = ArenaChapter()
