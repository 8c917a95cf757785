"""Compare certainty of annotators and a run: by item, like for like, and where certain."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from analysis.data.arrays import Floats, RunData
from analysis.data.verdicts import Verdicts, run_votes
from analysis.report.report_json import (
    Json,
    cell,
    estimate,
    number,
    put,
    put_estimate,
    put_interval,
)
from analysis.report.section import RUN, Analysis, NumberSource, ReportJson, Section
from analysis.report.sentences import DETECTABLE
from analysis.report.study import IN_GENERAL, ReportedStudy, families
from analysis.report.tables import CONDITIONAL, Table, TableColumn, without_interval
from analysis.report.words import named_comparisons, run_names
from analysis.stats.accuracy.general_accuracy import general_contrast
from analysis.stats.certainty.high_sets import HighSets as ComparedSets
from analysis.stats.certainty.high_sets import certainty_by_source, compare_high_sets
from analysis.stats.certainty.human_llm import (
    compare_certainty,
    compare_certainty_distributions,
    general_spearman,
)
from analysis.stats.certainty.like_for_like import LikeForLike, PanelSide, like_for_like
from analysis.stats.comparison.general_difference import detectable_difference
from analysis.stats.core.multiplicity import holm
from analysis.stats.core.results import Estimate

MAJORITY = 3


def compared_certainty(study: ReportedStudy, run: RunData, judge: Verdicts) -> Json:
    """Compare certainty item by item, as distributions, and like for like."""
    data, people, votes = study.data, study.people, study.votes
    pairs = compare_certainty(people.certainty, judge.certainty)
    # Distributions use single answers, because a mean of three annotators varies less than one
    # reply.
    spread = compare_certainty_distributions(votes.certainty, run.judgments.certainty)
    out: Json = {"items": pairs.n, "answers": spread.n_human, "judgments": spread.n_model}
    for key in ("pearson", "spearman", "kendall", "concordance"):
        put(out, key, number(getattr(pairs, key)), pairs.correlation_reason)
    reason = pairs.correlation_reason or ("too_few_items" if pairs.n < 10 else "no_variation")
    put_interval(out, "spearman_ci", pairs.spearman_interval, reason)
    general = general_spearman(people.certainty, judge.certainty, study.shared.items)
    without = general.interval_reason or general.reason
    put_interval(out, "spearman_general_ci", general.interval, without)
    put(out, "mean_difference", number(pairs.mean_difference), pairs.reason)
    put(out, "wilcoxon_p", number(pairs.wilcoxon_p), pairs.wilcoxon_reason)
    for key in ("ks", "ks_p", "wasserstein", "human_mean", "model_mean", "human_sd", "model_sd"):
        put(out, key, number(getattr(spread, key)), spread.reason)

    # One truth for both sides: a true tie counts if both could choose a tie.
    offers_tie = run.offers_tie and data.study.allow_tie
    truth = data.scored_truth(offers_tie=offers_tie).astype(np.int64)
    panel = like_for_like(
        votes,
        run_votes(data, run),
        truth,
        threshold=study.threshold,
        votes_per_item=MAJORITY,
        rng=study.rng(),
    )
    out["like_for_like"] = _panel(panel)
    return out


def _panel(panel: LikeForLike) -> Json:
    out: Json = {"votes_per_item": panel.votes_per_item}
    put(out, "coverage", number(panel.coverage))
    for name in ("human_single", "model_single", "human_majority", "model_majority"):
        out[name] = _side(getattr(panel, name))
    return out


def _side(side: PanelSide) -> Json:
    out: Json = {"overall": cell(side.overall), "high": cell(side.high)}
    out |= {"ties": side.n_ties, "no_certainty": side.n_no_certainty}
    put(out, "high_share", number(side.high_share), side.reason)
    matched = side.matched if side.reason is None else Estimate(None, side.reason)
    put_estimate(out, "matched_accuracy", matched)
    return out


def like_for_like_table(report: ReportJson) -> Table:
    people: list[list[Any]] = []
    judges: list[list[Any]] = []
    for name, versus in zip(run_names(report), report["comparison"], strict=True):
        panel = versus["certainty"]["like_for_like"]
        if versus["certainty"]["judgments"] == 0:
            continue
        for rows, key, label in (
            (people, "human_single", "One person"),
            (people, "human_majority", "Three people, majority"),
            (judges, "model_single", f"{name}, one reply"),
            (judges, "model_majority", f"{name}, three replies, majority"),
        ):
            side = panel[key]
            row = [label, without_interval(side["overall"]), side["high_share"]]
            row.append(without_interval(side["high"]))
            row += [side["matched_accuracy"], side["matched_accuracy_ci"]]
            # Annotators' values are the same for every run, unless a run scores true ties.
            if side["overall"]["n"] and row not in rows:
                rows.append(row)
    rows = people + judges
    columns = (
        TableColumn("Who"),
        TableColumn("Overall", "share"),
        TableColumn("Share high", "percent"),
        TableColumn("High", "share"),
        TableColumn("At people's coverage", "percent"),
        TableColumn("95 % interval", "percent_range"),
    )
    return Table(
        "like_for_like",
        "Like for like: one person with one reply, majority with majority",
        columns,
        rows,
        "The mean of three certainties varies less than one, so equal judges look different if a "
        "majority is compared with a single reply. “At people's coverage”: accuracy of the most "
        "certain answers, taking the same share as people's high single answers; its interval "
        "allows for the estimation of this share.",
    )


_BY_ITEM = (
    "pearson",
    "spearman",
    "kendall",
    "concordance",
    "mean_difference",
    "wilcoxon_p",
    "human_mean",
    "model_mean",
    "ks",
    "wasserstein",
)


def item_by_item(report: ReportJson) -> Table:
    rows = []
    for name, versus in zip(run_names(report), report["comparison"], strict=True):
        found = versus["certainty"]
        if found["items"] and found["judgments"]:
            rows.append([name, found["items"], *(found[key] for key in _BY_ITEM)])
    columns = (
        TableColumn("Run"),
        TableColumn("Items", "count"),
        TableColumn("Pearson", "decimal", "Correlation over items"),
        TableColumn("Spearman", "decimal", "Correlation over items"),
        TableColumn("Kendall", "decimal", "Correlation over items"),
        TableColumn("Lin", "decimal", "Correlation over items"),
        TableColumn("mean", "number", "Judge minus majority"),
        TableColumn("Wilcoxon p", "p", "Judge minus majority"),
        TableColumn("people", "number", "Mean of single answers"),
        TableColumn("judge", "number", "Mean of single answers"),
        TableColumn("KS", "decimal", "Distance of distributions"),
        TableColumn("points", "number", "Distance of distributions"),
    )
    return Table(
        "certainty_by_item",
        "Certainty of judge and people, item by item and as distributions",
        columns,
        rows,
        "Item by item, the majority's certainty is the mean of those who gave its answer; "
        "distributions are of single answers. Lin's concordance falls if one side is more "
        "certain throughout; the other three ignore that. Wilcoxon's test leaves out items on "
        "which both are equally certain.",
    )


class CertaintyComparison(Section):
    """Compare the certainty of annotators with that of every run."""

    name = "certainty_comparison"
    analyses = (
        Analysis(
            "certainty_beside",
            tables=("like_for_like", "high_sets", "interaction", "certainty_by_item", "by_band"),
            paths=("certainty_headline", "comparison.*.certainty", "comparison.*.by_band"),
            uses=("threshold", "resamples"),
        ),
    )
    sources = (NumberSource("comparison.*.certainty", "certainty_by_item", RUN),)

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        runs = zip(study.data.runs, study.judges, strict=True)
        return {
            "comparison": [{"certainty": compared_certainty(study, *run)} for run in runs],
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield item_by_item(report)
        yield like_for_like_table(report)


def _high_sets(sets: ComparedSets) -> Json:
    """Accuracy of each side on its own high items, and of both on the four resulting sets."""
    return {
        "n": sets.n,
        "difference": estimate(sets.difference),
        "judge_on_own": cell(sets.model_on_own),
        "people_on_own": cell(sets.human_on_own),
        "cells": {
            name: {"people": cell(people), "judge": cell(judge)}
            for name, (people, judge) in sets.cells.items()
        },
    }


def _add_in_general(entries: Sequence[Json], study: ReportedStudy, family: Sequence[int]) -> None:
    """Add the difference in general, on items where both sides state a certainty."""
    people, threshold = study.people, study.threshold
    found = []
    for index in family:
        judge = study.judges[index]
        known = judge.scored & people.scored
        known &= ~np.isnan(judge.certainty) & ~np.isnan(people.certainty)
        found.append(
            general_contrast(
                _credit(judge),
                known & (judge.certainty >= threshold),
                _credit(people),
                known & (people.certainty >= threshold),
                study.shared.items,
                among=len(family),
            )
        )
    for index, result, p in zip(family, found, holm([one.p for one in found]), strict=True):
        out: Json = {"holds_for": IN_GENERAL, "family": len(family)}
        out["tests"] = sum(one.p is not None for one in found)
        reason = result.interval_reason or result.reason
        out |= estimate(result)
        put_interval(out, "ci_as_best", result.as_best, reason)
        put(out, "p", number(result.p), reason)
        put(out, "p_holm", number(p), reason)
        detectable = detectable_difference(result, among=len(family))
        put(out, "detectable", number(detectable), reason or "no_variation")
        entries[index]["difference_general"] = out


def _credit(side: Verdicts) -> Floats:
    return np.where(side.scored, side.correct, np.nan)


OWN = "each on its own certain ones"


def high_sets(report: ReportJson) -> Table:
    rows = []
    labels = {
        "both": "both certain",
        "human_only": "only people certain",
        "model_only": "only the judge certain",
        "neither": "neither certain",
    }
    for name, versus in zip(run_names(report), report["comparison"], strict=True):
        sets = versus["certainty"]["high_sets"]
        if sets["n"]:
            for key, label in labels.items():
                cells = sets["cells"][key]
                rows.append([name, label, cells["people"], cells["judge"], *[None] * 4])
            gap = sets["difference_general"]
            own = [without_interval(sets[key]) for key in ("people_on_own", "judge_on_own")]
            ends = gap["ci_as_best"] or gap["ci"]
            rows.append([name, OWN, *own, gap["value"], ends, gap["p_holm"], gap.get("detectable")])
    columns = (
        TableColumn("Run"),
        TableColumn("Items where"),
        TableColumn("People", "share"),
        TableColumn("Judge", "share"),
        TableColumn("Difference", "points"),
        TableColumn("95 % in general", "points_range"),
        TableColumn("Holm p", "p"),
        TableColumn("Detectable", "points"),
    )
    return Table(
        "high_sets",
        "Accuracy where each side is certain",
        columns,
        rows,
        "Each side's own high items differ but overlap; in the first four rows both are scored "
        "on the same ones. The difference in the last row allows for shared people, personas "
        "and questions, and its lower end for choosing the best of several runs; Holm: over the "
        f"competing runs. {DETECTABLE} {CONDITIONAL}",
    )


class HighSetsSection(Section):
    """Accuracy of judge and annotators on their own high items."""

    name = "high_sets"
    needs = ("accuracies",)
    sources = (NumberSource("comparison.*.certainty.high_sets", "high_sets", RUN),)

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        people = study.people
        found = [
            _high_sets(
                compare_high_sets(
                    people.certainty,
                    people.correct,
                    judge.certainty,
                    judge.correct,
                    threshold=study.threshold,
                    rng=study.rng(),
                    n_draws=study.draws,
                )
            )
            for judge in study.judges
        ]
        for family in families(earlier["judges"]):
            _add_in_general(found, study, family)
        return {"comparison": [{"certainty": {"high_sets": sets}} for sets in found]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield high_sets(report)


def interaction(study: ReportedStudy, judge: Verdicts) -> Json:
    """Fit annotators' single answers and the run's verdicts in one regression."""
    votes, shared = study.votes, study.shared
    items = np.arange(judge.correct.size)
    item = np.concatenate([votes.item, items])
    is_model = np.arange(item.size) >= votes.n
    annotator = np.concatenate([votes.annotator, np.full(items.size, votes.n_annotators)])
    found = certainty_by_source(
        np.concatenate([study.correct_alone, judge.correct]),
        np.concatenate([votes.certainty, judge.certainty]),
        is_model,
        {
            "item": item,
            "annotator": annotator,
            "persona": shared.persona[item],
            "question": shared.question[item],
        },
        threshold=study.threshold,
    )
    out: Json = {"n": found.n}
    out |= {key: estimate(getattr(found, key)) for key in ("people", "model", "interaction")}
    put(out, "p", number(found.p), found.interaction.reason or found.interaction.interval_reason)
    return out


def interaction_table(report: ReportJson) -> Table:
    rows = []
    for name, versus in named_comparisons(report):
        found = versus["certainty"]["interaction"]
        if found["interaction"]["value"] is not None:
            rows.append(
                [
                    name,
                    found["n"],
                    found["people"]["value"],
                    found["model"]["value"],
                    found["interaction"]["value"],
                    found["interaction"]["ci"],
                    found["p"],
                ]
            )
    columns = (
        TableColumn("Run"),
        TableColumn("Answers", "count"),
        TableColumn("people", "decimal", "Log odds ratio of high certainty"),
        TableColumn("judge", "decimal", "Log odds ratio of high certainty"),
        TableColumn("Judge minus people", "decimal"),
        TableColumn("95 % interval", "range"),
        TableColumn("p", "p"),
    )
    return Table(
        "interaction",
        "Does high certainty say more from the judge than from a person?",
        columns,
        rows,
        "A sensitivity analysis: logistic regression of being right on who answers, high "
        "certainty and their interaction, over single answers; its variance allows for shared "
        "items, people, personas and questions. Above 0: the judge's high certainty says more.",
    )


class InteractionSection(Section):
    """Logistic regression of being right on who answers and high certainty."""

    name = "interaction"

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {
            "comparison": [
                {"certainty": {"interaction": interaction(study, judge)}} for judge in study.judges
            ]
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield interaction_table(report)
