"""What the next sum of money buys, and how far each purchase narrows the study's main interval."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from analysis.errors import BadParameters
from analysis.report.words import number_of
from extras.planning.assumptions import Assumptions
from extras.planning.forecast import with_pilot
from extras.planning.sources import (
    JudgeReadings,
    clusters_of_items,
    judge_dollars,
    judge_readings,
    pilot_answers,
    rates_of,
)
from extras.planning.stats.next_purchase import (
    ANSWERS,
    BOTH_ORDERS,
    ITEMS,
    PERSONAS,
    PURCHASES,
    SECOND_JUDGE,
    ExpectedWidth,
    JudgeTruth,
    StudyDesign,
    bought,
    expected_half_width,
    half_width_of,
    majority_of,
)
from extras.planning.stats.simulated_studies import Effects, random_layout
from extras.planning.stats.variance_components import PilotAnswers, variance_components
from studies.models import Study
from studies.money import format_cost, format_money, major_units, minor_units

AMOUNT = 100
_DRAWS = 300
_FEWEST_REPEATED = 20  # items read twice that show how far readings differ
_NO_PRICE_OF_JUDGE = "no run of the study has a price"


@dataclass(frozen=True)
class _Prices:
    """Prices in the study's currency: of one person, and of a judge for one item."""

    person: Decimal | None
    why_no_person: str
    judgment: Decimal | None
    why_no_judgment: str

    @classmethod
    def of(cls, study: Study, dollar: float | None) -> "_Prices":
        person, no_person = None, ""
        rates = rates_of(study)
        if not study.reward:
            no_person = "the settings state no reward"
        elif rates.fee is None:
            no_person = "the platform’s fee is unknown (RECRUITING_FEE)"
        else:
            paid = major_units(study.reward, study.currency)
            person = paid * (1 + rates.fee * (1 + (rates.tax or Decimal(0))))
        judgment, no_judgment = judge_dollars(study, 1, 1), ""
        if judgment is None:
            no_judgment = _NO_PRICE_OF_JUDGE
        elif study.currency != "USD":
            if dollar is None:
                judgment = None
                no_judgment = (
                    f"judges are priced in dollars and people in {study.currency}; "
                    "`plan --dollar RATE` counts both"
                )
            else:
                judgment *= Decimal(str(dollar))
        return cls(person, no_person, judgment, no_judgment)


@dataclass(frozen=True)
class _Now:
    """The study as it is, or as it is planned, and what it says of people and judges."""

    design: StudyDesign
    accuracy: float
    effects: Effects
    judge: JudgeTruth
    half_width: float | None
    basis: str
    repeated: str
    shared: str


def next_purchases(
    study: Study,
    amount: float,
    assumed: Assumptions,
    *,
    dollar: float | None = None,
    on_progress: Callable[[int, str], None] = lambda percent, words: None,
) -> dict[str, Any]:
    """What each purchase for `amount` of the study's currency costs and narrows, best first.

    `dollar` is the price of a dollar in that currency. Raises `BadParameters`.
    """
    if not 1 <= amount <= 1_000_000:
        raise BadParameters(f"“{amount:g}” is no amount to spend. Use 1 to 1,000,000.")
    if dollar is not None and not 0 < dollar < 1_000_000:
        raise BadParameters(f"A dollar cannot cost “{dollar:g}”. Use a number above 0.")
    now, rng = _now(study, assumed), np.random.default_rng(assumed.seed)
    prices = _Prices.of(study, dollar)
    on_progress(0, "Simulating the study as it is.")
    simulated = _expected(now, now.design, rng)
    if simulated.value is None:
        raise BadParameters(
            "There are too few people, personas or questions for an interval, so nothing can be "
            "compared. Plan a larger study first."
        )
    width = simulated.value if now.half_width is None else now.half_width
    rows = []
    for place, purchase in enumerate(PURCHASES):
        on_progress(100 * (place + 1) // (len(PURCHASES) + 1), _WORDS[purchase])
        row = _offer(study, purchase, amount, assumed, now, prices)
        if (design := row.pop("design")) is not None:
            then = _expected(now, design, rng)
            if then.value is None:
                row["reason"] = row["reason"] or "studies of that size have no interval"
            else:
                row["then"] = width * then.value / simulated.value
                row["se"] = width * then.se / simulated.value
        rows.append(row | {"now": width})
    _rank(rows)
    rows.sort(key=lambda row: -math.inf if row["gain"] is None else row["gain"], reverse=True)
    return {
        "amount": amount,
        "currency": study.currency,
        "now": width,
        "is_observed": now.half_width is not None,
        "basis": now.basis,
        "items": now.design.n_items,
        "answers": int(now.design.item.size),
        "rows": rows,
        "best": [row["purchase"] for row in rows if row["is_best"]],
        "simulated": study.is_simulated,
    }


def _now(study: Study, assumed: Assumptions) -> _Now:
    """From the study's own answers if people and a judge can be compared, or as assumed."""
    try:
        pilot, readings = pilot_answers(study.slug), judge_readings(study.slug)
    except BadParameters:
        readings = None
    if readings is not None:
        now = _from_answers(pilot, readings, assumed)
        if now is not None:
            return now
    _, assumed = with_pilot(assumed, lambda percent, words: None)
    persona, question = clusters_of_items(study)
    if not persona:
        persona = question = list(range(assumed.items))
    layout = random_layout(
        np.array(persona, dtype=np.int64),
        np.array(question, dtype=np.int64),
        n_items=assumed.items,
        answers=assumed.answers,
        per_annotator=assumed.per_annotator,
        rng=np.random.default_rng(assumed.seed),
    )
    effects = Effects(
        assumed.sd_item,
        assumed.sd_annotator,
        assumed.sd_persona,
        assumed.sd_question,
        assumed.overlap,
    )
    return _Now(
        StudyDesign.of(layout),
        assumed.accuracy_people,
        effects,
        JudgeTruth(assumed.accuracy_judge or assumed.accuracy_people),
        None,
        "No answers of people and a judge can be compared yet: everything is from the plan’s "
        f"assumptions, {number_of(assumed.items, 'item')} with "
        f"{number_of(assumed.answers, 'answer')} each.",
        "assumed: two readings are alike only because of the item",
        "assumed: two judges share only what is hard for people",
    )


def _from_answers(
    pilot: PilotAnswers, readings: JudgeReadings, assumed: Assumptions
) -> _Now | None:
    share = readings.share
    # Items that people and the judge answered; the others say nothing about the difference.
    kept = np.intersect1d(np.unique(pilot.item), np.flatnonzero(~np.isnan(share)))
    fitted = variance_components(pilot, n_draws=2, rng=np.random.default_rng(assumed.seed))
    if fitted is None or kept.size < 2:
        return None
    place = np.full(share.size, -1)
    place[kept] = np.arange(kept.size)
    rows = place[pilot.item] >= 0
    _, people = np.unique(pilot.annotator[rows], return_inverse=True)
    _, persona = np.unique(pilot.persona[kept], return_inverse=True)
    _, question = np.unique(pilot.question[kept], return_inverse=True)
    read = readings.read[kept]
    usual = max(1, round(float(read.mean())))
    design = StudyDesign(place[pilot.item[rows]], people, persona, question, readings=usual)
    majority = majority_of(pilot.correct[rows].astype(np.float64)[None], design)[0]
    width = half_width_of(share[kept] - majority, design)
    if math.isnan(width) or width == 0:
        return None
    again, p = read > 1, share[kept]
    reading = together = None
    repeated = f"{readings.name} read {int(again.sum())} items more than once, too few to tell"
    if again.sum() >= _FEWEST_REPEATED:
        reading = float((p * (1 - p) * read / np.maximum(read - 1, 1))[again].mean())
        repeated = f"{readings.name} read {int(again.sum()):,} items more than once"
    shared = f"no second judge yet: one that shares with {readings.name} what is hard for people"
    if readings.other_share is not None:
        both = ~np.isnan(readings.other_share[kept])
        if both.sum() >= _FEWEST_REPEATED:
            together = float(np.cov(p[both], readings.other_share[kept][both])[0, 1])
            shared = (
                f"a judge that is as alike to {readings.name} as {readings.other} on "
                f"{int(both.sum()):,} items"
            )
    default = Effects(
        assumed.sd_item,
        assumed.sd_annotator,
        assumed.sd_persona,
        assumed.sd_question,
        assumed.overlap,
    )
    missing = [name for name, one in fitted.components.items() if one.value is None]
    basis = (
        f"{int(rows.sum()):,} answers of {int(people.max()) + 1:,} people to {kept.size:,} items, "
        f"and {readings.name}: the effects of items, people, personas and questions are estimated "
        "from them."
    )
    if missing:
        basis += f" Assumed, because they cannot be estimated: {', '.join(missing)}."
    return _Now(
        design,
        fitted.accuracy,
        fitted.effects(default),
        JudgeTruth(float(p.mean()), reading, together),
        width,
        basis,
        repeated,
        shared,
    )


def _expected(now: _Now, design: StudyDesign, rng: np.random.Generator) -> ExpectedWidth:
    return expected_half_width(
        now.accuracy, now.effects, now.judge, design, n_draws=_DRAWS, rng=rng
    )


_WORDS = {
    ITEMS: "More items of the same personas",
    PERSONAS: "As many items of new personas",
    ANSWERS: "More people per item",
    SECOND_JUDGE: "A second judge",
    BOTH_ORDERS: "Both orders",
}


def _offer(
    study: Study,
    purchase: str,
    amount: float,
    assumed: Assumptions,
    now: _Now,
    prices: _Prices,
) -> dict[str, Any]:
    """What the amount buys of one kind; `reason` says why it is not ranked."""
    row: dict[str, Any] = {
        "purchase": purchase,
        "title": _WORDS[purchase],
        "what": "",
        "cost": None,
    }
    row |= {"then": None, "se": None, "gain": None, "is_best": False, "reason": "", "design": None}
    row["basis"] = ""
    if purchase in (SECOND_JUDGE, BOTH_ORDERS):
        return row | _of_judges(study, purchase, amount, now, prices)
    if prices.person is None:
        return row | {"reason": f"price of a person unknown: {prices.why_no_person}"}
    answers = max(1, round(now.design.item.size / now.design.n_items))
    per_person = assumed.per_annotator
    price = prices.person
    new_items = purchase != ANSWERS
    if new_items:
        price += (prices.judgment or Decimal(0)) * per_person / answers
    people = int(Decimal(str(amount)) / price)
    fewest = answers if new_items else 1
    if people < fewest:
        needs = f"{fewest} people" if fewest > 1 else "1 person"
        return row | {"reason": f"it takes at least {needs}, {_money(study, price * fewest)}"}
    if people * per_person > 200_000:
        return row | {"reason": "too many answers to simulate"}
    rng = np.random.default_rng(assumed.seed + 1)
    if new_items:
        items = people * per_person // answers
        row["what"] = f"{items:,} items, {people:,} people"
        row["design"] = bought(
            now.design, purchase, items=items, answers=answers, per_annotator=per_person, rng=rng
        )
        if prices.judgment is None:
            return row | {
                "reason": f"{_money(study, prices.person * people)} for people; price of the "
                f"judge unknown: {prices.why_no_judgment}"
            }
        return row | {"cost": float(prices.person * people + prices.judgment * items)}
    row["what"] = f"{people:,} people, {people * per_person:,} answers"
    row["basis"] = "items with an even number of answers can be tied, and then do not count"
    row["design"] = bought(
        now.design,
        purchase,
        people=people,
        per_annotator=min(per_person, now.design.n_items),
        rng=rng,
    )
    return row | {"cost": float(prices.person * people)}


def _of_judges(
    study: Study, purchase: str, amount: float, now: _Now, prices: _Prices
) -> dict[str, Any]:
    is_second = purchase == SECOND_JUDGE
    row: dict[str, Any] = {"basis": now.shared if is_second else now.repeated}
    row["what"] = f"{now.design.n_items * now.design.readings:,} judgments"
    if is_second:
        row["what"] += ", for the mean of two judges"
    elif now.design.readings > 1:
        return row | {"what": "", "reason": "the judge has read the items more than once already"}
    elif now.half_width is not None and now.judge.reading is None:
        return row | {
            "reason": f"unknown how far two readings differ: {now.repeated}. Ask about 20 items in "
            "both orders first"
        }
    row["design"] = bought(now.design, purchase, rng=np.random.default_rng(0))
    if prices.judgment is None:
        return row | {"reason": f"price of the judge unknown: {prices.why_no_judgment}"}
    cost = prices.judgment * now.design.n_items
    row["cost"] = float(cost)
    if cost > Decimal(str(amount)):
        row["reason"] = f"it costs {_money(study, cost)}"
    return row


def _rank(rows: list[dict[str, Any]]) -> None:
    """How much each row narrows the half width for one of the currency, and the best.

    Those whose Monte Carlo error leaves open which narrows more for the money are best together.
    """
    ranked = [row for row in rows if row["cost"] and row["then"] is not None and not row["reason"]]
    for row in ranked:
        row["gain"] = (row["now"] - row["then"]) / row["cost"]
        row["gain_se"] = row["se"] / row["cost"]
    if not ranked or (best := max(ranked, key=lambda row: row["gain"]))["gain"] <= 0:
        return
    for row in ranked:
        error = math.hypot(row["gain_se"], best["gain_se"])
        row["is_best"] = row is best or (row["gain"] > 0 and best["gain"] - row["gain"] < 2 * error)


def _money(study: Study, amount: Decimal) -> str:
    return format_money(minor_units(amount, study.currency), study.currency)


def summary_of(result: Mapping[str, Any]) -> str:
    """What narrows the interval most for its price, and what most within the amount."""
    best = [row for row in result["rows"] if row["is_best"]]
    amount = f"{result['amount']:g} {result['currency']}"
    if not best:
        return f"Nothing that {amount} buys is known to narrow the interval."
    sentence = f"For its price, {_narrows(result, best)}"
    ranked = [row for row in result["rows"] if row["gain"] is not None]
    widest = min(ranked, key=lambda row: row["then"])
    alike = [
        row
        for row in ranked
        if row is widest or row["then"] - widest["then"] < 2 * math.hypot(row["se"], widest["se"])
    ]
    alike.sort(key=lambda row: row["then"])
    if widest is not best[0] and widest["then"] < widest["now"]:
        sentence += f". Within {amount}, {_narrows(result, alike)}"
    return f"{sentence}."


def _narrows(result: Mapping[str, Any], rows: list[Mapping[str, Any]]) -> str:
    """What narrows most, and what the simulation cannot tell from it."""
    row = rows[0]
    words = (
        f"“{row['title']}” ({_cost_words(result, row['cost'])}) narrows the interval most, from "
        f"±{row['now'] * 100:.1f} to ±{row['then'] * 100:.1f} points"
    )
    if len(rows) > 1:
        words += "; the simulation cannot tell it from "
        words += " and ".join(f"“{other['title']}”" for other in rows[1:])
    return words


def lines_of(result: Mapping[str, Any]) -> list[list[str]]:
    """The purchases as rows of a table; the last cell says why one is not ranked, or its basis."""
    return [
        [
            row["title"] + (" ★" if row["is_best"] else ""),
            row["what"] or "–",
            "unknown" if row["cost"] is None else _cost_words(result, row["cost"]),
            "–" if row["then"] is None else f"±{row['then'] * 100:.1f}",
            "–"
            if row["then"] is None
            else f"{(row['now'] - row['then']) * 100:.1f} (±{row['se'] * 196:.1f})".replace(
                "-", "−"
            ),
            "–" if row["gain"] is None else f"{row['gain'] * 100:.3g}".replace("-", "−"),
            row["reason"] or row["basis"],
        ]
        for row in result["rows"]
    ]


def _cost_words(result: Mapping[str, Any], cost: float) -> str:
    if result["currency"] == "USD":
        return f"${format_cost(cost)}"
    return f"{format_cost(cost)} {result['currency']}"
