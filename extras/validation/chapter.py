"""Report chapter on pasted answers, judges that err together, and what would narrow intervals."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from analysis.data.arrays import RunData
from analysis.data.verdicts import Ints
from analysis.report.figures import JUDGES, Figure, axis, panel, scatter_trace
from analysis.report.quantities import Population, Quantity, QuantityInterval, Words, fixed, say
from analysis.report.report_json import Json, number, put, put_ci, put_interval, undefined, why
from analysis.report.section import NumberSource, ReportJson, Section, Sentence
from analysis.report.study import ReportedStudy, best_run, identity
from analysis.report.tables import Table, TableColumn, table_of_entries
from analysis.report.words import decimal, run_name
from analysis.stats.core.results import FloatArray
from extras.validation.pasted import breakdown_table, breakdowns, pasted_sentences
from extras.validation.stats import (
    EffectiveJudges,
    ErrorBudget,
    effective_judges,
    error_budget,
)
from extras.validation.stats.budget import FEWEST_WORDINGS, cheapest


def independent_judges(study: ReportedStudy) -> Json:
    """The entry of report.json; empty with fewer than two runs that saw the whole persona."""
    chosen = [place for place in study.whole_runs if not study.data.runs[place].is_jury]
    if len(chosen) < 2:
        return {}
    majority = study.people.majority
    known = np.where(majority.n_votes > 1, majority.share, np.nan)
    has_people = bool((majority.n_votes > 1).any())
    by_truth = [
        _wrong(study.judges[place].correct == 0, study.judges[place].scored) for place in chosen
    ]
    by_people = []
    for place in chosen:
        answer = study.judges[place].answer
        both = (answer >= 0) & (study.people.answer >= 0)
        by_people.append(_wrong(answer != study.people.answer, both))
    sides = {
        "by_truth": (by_truth, study.shared.judged),
        "by_people": (by_people, study.shared.items),
    }
    return {
        "effective_judges": {
            "judges": [identity(study.data.runs[place]) for place in chosen],
            "adjusted": has_people,
            **{
                name: _number_of(
                    effective_judges(
                        np.stack(errors, axis=1), known if has_people else None, sharing
                    )
                )
                for name, (errors, sharing) in sides.items()
            },
        }
    }


LEVERS = {
    "items": "more items",
    "answers": "more answers to each item",
    "readings": "more readings of each item",
    "wordings": "more wordings",
    "": "cheapest",
}
SIZES = ("items", "answers", "readings", "wordings")  # of a study
NARROWER = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4)  # of the width now
SOURCES = {
    "item": "items",
    "annotator": "people",
    "persona": "personas",
    "question": "questions",
    "wording": "wordings",
    "answer": "single answers and readings",
}


def error_budgets(study: ReportedStudy, earlier: ReportJson) -> Json:
    """The entry of report.json; empty without people or without a judge to compare."""
    place = best_run(earlier["judges"])
    if place is None or not study.votes.n:
        return {}
    run = study.data.runs[place]
    asked_in = _wordings(study.data.runs, run)
    cells = [_readings(wording, study.truth) for wording in asked_in]
    hits, read = (np.stack(parts, axis=1) for parts in zip(*cells, strict=True))
    budget = error_budget(study.correct_alone, study.votes.item, hits, read, study.shared.answers)
    if budget.half_width is None:
        return {}
    facts = study.data.study
    paid = facts.reward / 100 / max(facts.items_per_annotator, 1)
    is_priced = paid > 0 and facts.currency == "USD"
    asked = max(int((run.judgments.status != "open").sum()), 1)
    cost = (run.cost.usd or 0.0) / asked
    noise = budget.noise
    prices = (paid, cost) if is_priced else (1.0, 0.0)
    out: Json = identity(run) | {
        "value": number(budget.value),
        "half_width": number(budget.half_width),
        "items": budget.size.items,
        "answers": round(budget.size.answers, 6),
        "readings": round(budget.size.readings, 6),
        "wordings": budget.size.wordings,
        "orders": noise.orders,
        "shares": [
            {"source": name, "share": round(share, 6)} for name, share in budget.shares.items()
        ],
    }
    put(out, "reading", noise.reading, "not_repeated")
    why = "not_repeated" if noise.reading is None else "not_both_orders"
    put(out, "order", noise.order, why)
    put(out, "wording", noise.wording, "few_wordings")
    out["halved"] = [
        {"change": lever or "any"} | _offer(budget, 0.5, lever, prices, is_priced)
        for lever in LEVERS
        if lever != "wordings" or noise.wording is not None
    ]
    out["narrower"] = [
        {"share": share} | _offer(budget, share, "", prices, is_priced) for share in NARROWER
    ]
    return {"error_budget": out}


def _wordings(runs: Sequence[RunData], run: RunData) -> list[RunData]:
    """The run, and its judge's in other wordings but otherwise alike; alone if these are few."""

    def likeness(one: RunData) -> tuple[object, ...]:
        read = (one.parameters.get(name) for name in ("prompt_language", "reading"))
        return one.judge, one.setting, one.features, one.framing, one.orders, one.samples, *read

    alike = {run.wording: run}
    for other in runs:
        if not other.is_jury and len(other.judgments) and likeness(other) == likeness(run):
            alike.setdefault(other.wording, other)
    return [*alike.values()] if len(alike) >= FEWEST_WORDINGS else [run]


def _readings(run: RunData, truth: Ints) -> tuple[FloatArray, FloatArray]:
    """Right readings and all readings of each item in each order, shape (items, orders)."""
    rows = run.judgments
    done = rows.choice >= 0
    item, shape = rows.item[done], (truth.size, 2)
    cell = 2 * item + np.maximum(rows.shown_first[done], 0)
    right, read = (
        np.bincount(cell, weights, 2 * truth.size).reshape(shape).astype(np.float64)
        for weights in (rows.choice[done] == truth[item], None)
    )
    return right, read


def _offer(
    budget: ErrorBudget, share: float, lever: str, prices: tuple[float, float], is_priced: bool
) -> Json:
    """The cheapest study whose interval is that share as wide as now."""
    answer, judgment = prices
    wanted = share * (budget.half_width or 0.0)
    best = cheapest(budget, wanted, answer=answer, judgment=judgment, alone=lever)
    out: Json = {}
    if best is None:
        return out | undefined("none_found", *SIZES, "half_width", "price")
    size = best.size
    out |= {
        "items": size.items,
        "answers": round(size.answers, 6),
        "readings": round(size.readings, 6),
        "wordings": size.wordings,
        "half_width": number(best.half_width),
    }
    put(out, "price", best.price if is_priced else None, "not_reported")
    return out


def _wrong(is_wrong: Any, is_known: Any) -> FloatArray:
    return np.where(is_known, is_wrong.astype(np.float64), np.nan)


def _number_of(judges: EffectiveJudges) -> Json:
    out: Json = {"judges": judges.judges, "n": judges.n}
    put(out, "value", judges.value, judges.reason)
    put_ci(out, "ci", judges)
    put(out, "correlation", judges.correlation, judges.reason)
    put_interval(out, "correlation_ci", judges.correlation_interval, why(judges))
    return out


def judges_table(report: ReportJson) -> Table:
    entry = report["effective_judges"]
    labels = {"by_truth": "Own answers of personas", "by_people": "Majority of people"}
    return table_of_entries(
        "effective_judges",
        "Independent judges that these judges are worth",
        [(label, entry[name]) for name, label in labels.items()],
        [
            ("Judges", "count", "judges"),
            ("Items", "count", "n"),
            ("Correlation", "decimal", "correlation", "Errors"),
            ("95 % interval", "range", "correlation_ci", "Errors"),
            ("Number", "decimal", "value", "Worth"),
            ("95 % interval", "range", "ci", "Worth"),
        ],
        "Runs that saw the whole persona, on items that all of them decided. An error is an answer "
        "that differs from the one in the first column. Correlation: mean over pairs of judges, "
        + (
            "among items on which people agree equally. "
            if entry["adjusted"]
            else "not adjusted for difficulty, because no item has two answers of people. "
        )
        + "Worth: k judges count as k / (1 + (k − 1) × correlation).",
        first="Errors against",
    )


def budget_tables(report: ReportJson) -> Iterator[Table]:
    budget = report["error_budget"]
    yield Table(
        "error_sources",
        "Where the width of the interval comes from",
        (TableColumn("Source"), TableColumn("Share of the variance", "percent")),
        [[SOURCES[row["source"]], row["share"]] for row in budget["shares"]],
        f"{_whose(budget)} minus that of one person: the variance between items, people, personas "
        f"and questions, and of what is left. {_of_judge(budget)}A share of 0 can also be a "
        "variance that the data do not show.",
    )
    now = {"change": "now", "price": None} | {key: budget[key] for key in (*SIZES, "half_width")}
    yield table_of_entries(
        "halved",
        "What would halve the interval",
        [
            ("now", now),
            *(
                (LEVERS["" if row["change"] == "any" else row["change"]], row)
                for row in budget["halved"]
            ),
        ],
        [
            ("Items", "count", "items"),
            ("Answers", "number", "answers", "Of each item"),
            ("Readings", "number", "readings", "Of each item"),
            ("Wordings", "count", "wordings"),
            ("Half width", "percent", "half_width"),
            ("USD", "number", "price"),
        ],
        "Expected half width of the 95 % interval of the judge’s accuracy minus one person’s. "
        "People keep their number of items; more items have as many personas and questions more. "
        "Readings are in each wording. “–”: not with up to 30 times the items, 15 answers, 50 "
        "readings or 10 wordings. Price: rewards and the judge’s cost so far, without fees.",
        first="Change",
    )


def _whose(report: ReportJson) -> str:
    if report["wordings"] == 1:
        return f"Accuracy of {run_name(report)}"
    return f"Mean accuracy of {report['judge']} in {report['wordings']} wordings"


def _of_judge(report: ReportJson) -> str:
    """How far wordings, orders and readings move the judge, where the data say so."""
    parts = [
        f"{words} {decimal(100 * report[name] ** 0.5, 1)}"
        for name, words in (
            ("wording", "the judge’s accuracy between wordings"),
            ("order", "its readings of an item between orders"),
            ("reading", "its readings of an item in one order"),
        )
        if report[name] is not None
    ]
    return f"Standard deviations, in points: {'; '.join(parts)}. " if parts else ""


def narrower_table(report: ReportJson) -> Table:
    budget = report["error_budget"]
    rows = [
        [
            *(size[name] for name in ("share", "half_width", *SIZES)),
            size["items"] and round(size["items"] * size["answers"]),
            size["price"],
        ]
        for size in budget["narrower"]
    ]
    return Table(
        "narrower",
        "The cheapest study for a narrower interval",
        (
            TableColumn("Of the width now", "percent"),
            TableColumn("Half width", "percent"),
            TableColumn("Items", "count"),
            TableColumn("Answers", "number", "Of each item"),
            TableColumn("Readings", "number", "Of each item"),
            TableColumn("Wordings", "count"),
            TableColumn("Answers of people", "count"),
            TableColumn("USD", "number"),
        ),
        rows,
        "Expected, as in the table above.",
    )


def narrower_figure(report: ReportJson) -> Figure | None:
    """The half width that a study can reach for its price, or for its answers of people."""
    budget = report["error_budget"]
    known = [size for size in budget["narrower"] if size["half_width"] is not None]
    if len(known) < 2:
        return None
    is_priced = known[0]["price"] is not None
    cost = [size["price"] if is_priced else size["items"] * size["answers"] for size in known]
    width = [size["half_width"] for size in known]
    unit = "US dollars" if is_priced else "answers of people"
    line = scatter_trace(
        x=cost,
        y=width,
        mode="lines+markers",
        line={"color": JUDGES[0], "width": 2},
        marker={"size": 8, "color": JUDGES[0]},
        hovertemplate="±%{y:.1%}: %{x:,.0f} " + unit + "<extra></extra>",
    )
    words = "; ".join(
        f"±{share:.1%} for {money:,.0f} {unit}" for share, money in zip(width, cost, strict=True)
    )
    x_axis = axis(f"whole study, {unit}", range=[0, 1.1 * max(cost)])
    y_axis = axis("half width of the interval", tickformat=".1%", range=[0, 1.1 * max(width)])
    drawing = panel("", words, [line], height=280, xaxis=x_axis, yaxis=y_axis)
    title, caption = fixed("What a narrower interval costs"), fixed("Expected: the cheapest study.")
    return Figure("narrower", title, caption, "narrower", [drawing])


class Robustness(Section):
    """Pasted answers that would change the verdict, and what several judges are worth together."""

    name = "robustness"
    title = "Robustness"
    inside = "Pasted answers, judges who err together, and what would halve the interval"
    needs = ("headline", "replacement")
    sources = (
        NumberSource("breakdown", "breakdown"),
        NumberSource("effective_judges", "effective_judges"),
    )
    keys = """
        # Robustness
        breakdown | object | How many people would have to paste answers to change the verdict.
        breakdown.people | count | People who answered.
        pasted_answers | list | Each kind of pasted answers.
        pasted_answers.pasted | text | Whose answers: `own`, `another` or `opposite` of the judge.
        pasted_answers.state | text | The verdict as answered.
        pasted_answers.becomes | text | The verdict with the pasted answers.
        pasted_answers.low | count | No smaller group changes the verdict.
        pasted_answers.high | count | A group of this size changes it.
        curve | list | Groups drawn at random.
        curve.share | share | Share of people in the group.
        curve.replaced | count | People in the group.
        curve.changed | share | Groups that change the verdict.
        effective_judges | object | How many independent judges the runs are worth.
        effective_judges.judges | list | The runs.
        effective_judges.adjusted | flag | Whether items are compared at equal agreement of people.
        by_truth | object | By errors against own answers.
        by_people | object | By differences from the majority of people.
        by_truth.judges | count | Judges that are sometimes right and sometimes wrong.
        by_people.judges | count | Judges that are sometimes right and sometimes wrong.
        correlation | number | Mean correlation of two judges' errors.
        correlation_ci | range | Its 95 % interval.
        error_budget | object | Where the width of the interval against one person comes from.
        half_width | share | Half the width of the 95 % interval.
        error_budget.items | count | Items behind it.
        error_budget.answers | number | Answers of people to an item.
        error_budget.readings | number | Readings of an item by the judge, in each wording.
        error_budget.wordings | count | Wordings of the judge; fewer than three are not compared.
        error_budget.orders | count | Orders in which most items were read.
        error_budget.shares | list | Sources of the variance.
        shares.source | text | `item`, `annotator`, `persona`, `question`, `wording`, or `answer`.
        shares.share | share | Its share of the variance; `answer` has the rest.
        reading | number | Variance of a reading of one item in one wording and order.
        order | number | Variance between the two orders of an item.
        error_budget.wording | number | Variance of the accuracy between wordings.
        halved | list | Studies whose interval is half as wide.
        narrower | list | The cheapest study for intervals of several widths.
        narrower.share | share | Of the width now.
        narrower.items | count | Items.
        narrower.answers | number | Answers of people to an item.
        narrower.readings | number | Readings of an item by the judge.
        narrower.wordings | count | Wordings.
        narrower.price | number | In US dollars.
        halved.change | text | What changes: `items`, `answers`, `readings`, `wordings` or `any`.
        halved.items | count | Items.
        halved.answers | number | Answers of people to an item.
        halved.readings | number | Readings of an item by the judge.
        halved.wordings | count | Wordings.
        halved.price | number | In US dollars.
    """

    def is_needed(self, report: ReportJson) -> bool:
        return any(name in report for name in ("breakdown", "effective_judges", "error_budget"))

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        budget = error_budgets(study, earlier)
        return breakdowns(study, earlier) | independent_judges(study) | budget

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "breakdown" in report:
            yield breakdown_table(report)
        if "effective_judges" in report:
            yield judges_table(report)
        if "error_budget" in report:
            yield from budget_tables(report)
            yield narrower_table(report)

    def figures(self, report: ReportJson) -> Iterator[Figure | None]:
        if "error_budget" in report:
            yield narrower_figure(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        if "breakdown" in report:
            yield from pasted_sentences(report["breakdown"])
        if "effective_judges" in report:
            for name, errors in (("by_truth", "errors"), ("by_people", "differences from people")):
                entry, path = report["effective_judges"][name], f"effective_judges.{name}"
                if entry["value"] is not None and entry["ci"] is not None:
                    of = Population("judge", n=entry["judges"], path=f"{path}.judges")
                    interval = QuantityInterval.at(entry, "ci", path)
                    words = say(
                        "By their {errors}, {x.of} are worth {x} independent ones ({x.interval}).",
                        errors=Words(errors),
                        x=Quantity("coefficient", of, entry["value"], f"{path}.value", interval),
                    )
                    yield Sentence("finding", words)
                    break


CHAPTER = Robustness()
