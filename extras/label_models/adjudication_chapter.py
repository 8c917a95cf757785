"""The chapter on adjudicated labels: a second truth next to the persona's own answer."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from analysis.data.arrays import MISSING, TIE
from analysis.data.verdicts import Ints
from analysis.report.report_json import Json, cell, estimate, tested
from analysis.report.section import Analysis, ReportJson, Section, Sentence
from analysis.report.sentences import claim_p, holds, level_of
from analysis.report.study import ReportedStudy, identity, put_holm
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import (
    decimal,
    decimal_range,
    listed,
    number_of,
    percent,
    percent_range,
    points,
    points_range,
    reason,
    run_name,
    share_of,
)
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.agreement.alpha import krippendorff_alpha
from analysis.stats.agreement.coefficients import percent_agreement
from analysis.stats.comparison.general_difference import general_difference
from analysis.stats.core.shared_variance import Sharing
from extras.label_models.experts import AdjudicatedItems
from extras.label_models.models import SplitItem

# Kinds of claims.
PEOPLE, JUDGES = "people with experts or own answers", "judges with experts or own answers"


def _person(study: ReportedStudy, by_experts: Ints) -> Json:
    """Single answers of annotators to the items that experts decided."""
    item, choice = study.votes.item, study.votes.choice.astype(np.int64)
    entry = _against(choice, by_experts[item], study.truth[item], study.shared.answers)
    gaps = gaps_of(choice, by_experts[item], study.truth[item])
    entry["difference"] = tested(
        general_difference(mean_by_item(gaps, item, len(study.data.items)), study.shared.items)
    )
    return entry


def _judge(study: ReportedStudy, place: int, by_experts: Ints, held: AdjudicatedItems) -> Json:
    """A run's verdicts on the items that experts decided, and on all items with a label."""
    run, verdicts = study.data.runs[place], study.judges[place]
    whole = np.where(held.is_split, by_experts, study.people.answer)
    own = study.truth_for(run)
    if not run.offers_tie:
        by_experts = np.where(by_experts == TIE, MISSING, by_experts)
        whole = np.where(whole == TIE, MISSING, whole)
    answer, sharing = verdicts.answer.astype(np.int64), study.shared.judged
    entry = _against(answer, by_experts, own, sharing)
    entry["difference"] = tested(general_difference(gaps_of(answer, by_experts, own), sharing))
    known = (answer >= 0) & (whole >= 0)
    right = general_proportion((answer == whole)[known], study.shared.items.take(known))
    return entry | {"all_labels": cell(right, "value", "count")}


def _against(choice: Ints, by_experts: Ints, own: Ints, sharing: Sharing) -> Json:
    """How often choices are the experts' label, and the persona's own answer to these items."""
    entry = {}
    for name, truth in (("experts", by_experts), ("own", np.where(by_experts >= 0, own, MISSING))):
        known = (choice >= 0) & (truth >= 0)
        share = general_proportion((choice == truth)[known], sharing.take(known))
        entry[name] = cell(share, "value", "count")
    return entry


def gaps_of(choice: Ints, by_experts: Ints, own: Ints) -> Any:
    """Being the experts' label minus being the persona's own answer; NaN where one is missing."""
    known = (choice >= 0) & (by_experts >= 0) & (own >= 0)
    gap = (choice == by_experts).astype(float) - (choice == own).astype(float)
    return np.where(known, gap, np.nan)


def mean_by_item(values: Any, item: Ints, n: int) -> Any:
    """The mean value of each item; NaN without one."""
    known = ~np.isnan(values)
    k = np.bincount(item[known], minlength=n)
    total = np.bincount(item[known], weights=values[known], minlength=n)
    return np.where(k > 0, total / np.maximum(k, 1), np.nan)


def two_truths_table(report: ReportJson) -> Table:
    facts = report["adjudication"]
    judges = facts["judges"]
    not_scored = {"n": None, "value": None, "ci": None}
    rows = [("A person", {**facts["people"], "all_labels": not_scored})]
    rows += [(run_name(judge, judges), judge) for judge in judges]
    at_split, every = "Items that experts decided", "All items with a label"
    return table_of_entries(
        "adjudication",
        "Two truths: labels of experts, and personas’ own answers",
        rows,
        [
            ("Scored", "count", "experts.n", at_split),
            ("Chose the experts’ label", "percent", "experts.value", at_split),
            ("95 % interval", "percent_range", "experts.ci", at_split),
            ("Scored by own answer", "count", "own.n", at_split),
            ("Chose the own answer", "percent", "own.value", at_split),
            ("95 % interval", "percent_range", "own.ci", at_split),
            ("Scored", "count", "all_labels.n", every),
            ("Chose the label", "percent", "all_labels.value", every),
            ("95 % interval", "percent_range", "all_labels.ci", every),
        ],
        "Split items are not like others, so these shares are not those of all items. All items "
        "with a label: those that experts decided, and those with a majority of annotators that "
        "were not split, where the label is this majority; people are not scored by it. “Scored” "
        "counts answers of people, and items of judges. Intervals hold for these experts.",
        first="Who",
    )


class AdjudicationSection(Section):
    """What experts decided about split items, as a truth of its own."""

    name = "adjudication"
    title = "Adjudicated labels"
    inside = "People and judges against the labels of experts, next to personas’ own answers"
    has_claims = True
    keys = """
        # Adjudicated labels
        adjudication | object | Split items that experts decided.
        adjudication.items | count | Items of the study.
        adjudication.split | count | Items that were sent to experts.
        reasons | object | Split items by why they were sent.
        no_majority | count | No response has a majority.
        share | count | The majority is small.
        set | count | In a chosen set of items.
        file | count | Decided in a file.
        adjudication.labelled | count | Split items with a label of experts.
        adjudication.disagree | count | Split items on which experts disagree without a majority.
        adjudication.experts | count | Experts with decisions.
        with_account | count | Experts whose account can open the answers of the study.
        from_file | count | Experts who decided elsewhere, in a file.
        decisions | count | Decisions of experts.
        is_closed | flag | Whether decisions can no longer change.
        adjudication.by_two | count | Items that at least two experts decided.
        adjudication.agreement | object | Share of pairs of experts who chose the same.
        adjudication.alpha | object | Krippendorff's alpha of experts.
        own_answers | object | Experts' labels that are the persona's own answer.
        own_answers.count | count | Labels that are the own answer.
        adjudication.people | object | Single answers to items that experts decided.
        adjudication.judges | list | Each run on items that experts decided.
        people.experts | object | Answers that are the experts' label.
        people.own | object | Answers to the same items that are the persona's own answer.
        adjudication.people.difference | object | Share of experts' labels minus of own answers.
        judges.experts | object | Verdicts that are the experts' label.
        judges.own | object | Verdicts on the same items that are the persona's own answer.
        adjudication.judges.difference | object | Share of experts' labels minus of own answers.
        all_labels | object | Verdicts that are the label, on all items with one.
        experts.count | count | Choices of the experts' label.
        own.count | count | Choices of the persona's own answer.
        all_labels.count | count | Verdicts that are the label.
    """
    analyses = (Analysis("adjudication", tables=("adjudication",), paths=("adjudication",)),)

    def is_needed(self, report: ReportJson) -> bool:
        return "adjudication" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty if no item was sent to experts."""
        held = study.data.of(AdjudicatedItems)
        if held is None:
            return {}
        label, counts = held.label(), held.counts()
        has_decision = counts.sum(axis=1) > 0
        out: Json = {
            "items": len(study.data.items),
            "split": int(held.is_split.sum()),
            "reasons": dict(sorted(Counter(filter(None, held.reason)).items())),
            "labelled": int((held.is_split & (label >= 0)).sum()),
            "disagree": int((held.is_split & has_decision & (label < 0)).sum()),
            "experts": int(held.choice.shape[0]),
            "with_account": held.with_account,
            "from_file": held.from_file,
            "decisions": int((held.choice >= 0).sum()),
            "is_closed": held.is_closed,
            "by_two": int((counts.sum(axis=1) > 1).sum()),
            "agreement": estimate(percent_agreement(counts, n_draws=study.draws, rng=study.rng())),
            "alpha": estimate(krippendorff_alpha(counts, n_draws=study.draws, rng=study.rng())),
        }
        by_experts = np.where(held.is_split, label, MISSING)
        own = study.truth
        both = (by_experts >= 0) & (own >= 0)
        same = general_proportion((by_experts == own)[both], study.shared.judged.take(both))
        out["own_answers"] = cell(same, "value", "count")
        out["people"] = _person(study, by_experts)
        judges = [
            identity(run) | _judge(study, place, by_experts, held)
            for place, run in enumerate(study.data.runs)
        ]
        put_holm([entry["difference"] for entry in judges])
        return {"adjudication": out | {"judges": judges}}

    def claims(self, report: ReportJson) -> Mapping[str, Sequence[float | None]]:
        facts = report.get("adjudication")
        if not facts:
            return {}
        judges = [claim_p(entry["difference"]) for entry in facts["judges"]]
        return {PEOPLE: [claim_p(facts["people"]["difference"], "p")], JUDGES: judges}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if report.get("adjudication", {}).get("labelled"):
            yield two_truths_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        facts = report.get("adjudication")
        if not facts:
            return
        yield Sentence.of("methods", _of_items(facts))
        for words in (_of_items(facts), *_of_experts(facts), *_of_sides(report, facts)):
            yield Sentence.of("finding", words)


def _of_items(facts: Mapping[str, Any]) -> str:
    reasons = [
        f"{number_of(n, 'item')} ({SplitItem.Reason(why).label})"
        for why, n in facts["reasons"].items()
    ]
    state = "" if facts["is_closed"] else " Decisions can still change: it is not closed."
    disagree = ""
    if facts["disagree"]:
        disagree = f"; on {number_of(facts['disagree'], 'item')} experts disagree"
    experts, elsewhere = facts["experts"], facts["from_file"]
    have = "has" if facts["split"] == 1 else "have"
    ways = [
        f"{number_of(n, 'expert')} of {experts:,} decided {way}."
        for n, way in (
            (facts["with_account"], "by an account, which can open the answers of the study"),
            (elsewhere, "elsewhere, in a file"),
        )
        if n
    ]
    pages = "" if experts and elsewhere == experts else ", whose pages show no answers or judgments"
    sentence = (
        f"Of {number_of(facts['items'], 'item')}, {listed(reasons)} went to experts{pages}: "
        f"{facts['labelled']:,} of {facts['split']:,} {have} a label; "
        f"{number_of(experts, 'expert')} took part{disagree}."
    )
    return " ".join([sentence, *ways]) + state


def _of_experts(facts: Mapping[str, Any]) -> Iterator[str]:
    agreement, alpha = facts["agreement"], facts["alpha"]
    if agreement["value"] is not None:
        words = f"{percent(agreement['value'])} of pairs chose the same"
        if agreement["ci"]:
            words += f" (95\u00a0% CI {percent_range(agreement['ci'])})"
        if alpha["value"] is not None:
            words += f", Krippendorff’s alpha {decimal(alpha['value'])}"
            if alpha["ci"]:
                words += f" ({decimal_range(alpha['ci'])})"
        yield f"Experts on {number_of(facts['by_two'], 'item')} that at least two decided: {words}."
    own = facts["own_answers"]
    if own["n"]:
        words = share_of(own["value"], own["n"], "item")
        if own["ci"]:
            words += f" (95\u00a0% CI {percent_range(own['ci'])})"
        yield f"The experts’ label is the persona’s own answer on {words}."


def _of_sides(report: ReportJson, facts: Mapping[str, Any]) -> Iterator[str]:
    sides = [("A person", facts["people"], "answer", PEOPLE, "p")]
    sides += [
        (run_name(entry, facts["judges"]), entry, "item", JUDGES, "p_holm")
        for entry in facts["judges"]
    ]
    for name, entry, unit, kind, p in sides:
        experts, own, test = entry["experts"], entry["own"], entry["difference"]
        if not experts["n"]:
            continue
        words = f"the experts’ label in {share_of(experts['value'], experts['n'], unit)}"
        if test["value"] is None:
            yield f"On items that experts decided, {name_in(name)} chose {words}."
            continue
        words += f" and the persona’s own answer in {share_of(own['value'], own['n'], unit)}"
        gap = f"{points(test['value'])} points as a mean over items with both"
        if test["ci"]:
            gap += f", 95\u00a0% CI {points_range(test['ci'])}"
        else:
            gap += f", no interval: {reason(test['ci_reason'])}"
        if holds(test, level_of(report, kind), p):
            way = "more" if test["value"] > 0 else "less"
            yield (
                f"On items that experts decided, {name_in(name)} chose the experts’ label {way} "
                f"often than the persona’s own answer: {words} ({gap})."
            )
        else:
            yield f"On items that experts decided, {name_in(name)} chose {words} ({gap})."


def name_in(name: str) -> str:
    """A name inside a sentence: that of a judge stays as it is."""
    return "a person" if name == "A person" else name


CHAPTER = AdjudicationSection()
