"""Sets of options: how judges rank whole sets, and what their pairs have in common."""

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from analysis.data.arrays import Ranked, RankedSets
from analysis.report.encode import Json, cell, number, put, put_interval
from analysis.report.section import Report, Section, Sentence
from analysis.report.study import Study, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.text.names import run_name
from analysis.stats.accuracy.first_places import first_places
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.core.results import Proportion
from analysis.stats.core.shared_variance import Sharing

_LIMIT = (
    "{items:,} items are pairs of {sets:,} sets of 3 to 5 responses{shared}. Pairs of one set are "
    "not independent: intervals that take items as independent are too narrow. Use those for "
    "items, people, personas and questions in general."
)
_PLACE = "The option ranked first was"
_SHARED = ", and a judge that ranks a whole set answers all its pairs with one reply"


def option_sets(study: Study) -> Json:
    """The entry of report.json; empty for a study whose items compare only two responses."""
    sets = study.data.ranked_sets
    if sets is None:
        return {}
    sizes, counts = np.unique(sets.sizes, return_counts=True)
    judges = [
        identity(run) | _judge(study, sets, sets.rankings[run.run], run.seed)
        for run in study.data.runs
        if run.run in sets.rankings
    ]
    return {
        "option_sets": {
            "items": int((sets.set_of >= 0).sum()),
            "sets": int(sets.sizes.size),
            "sizes": {str(k): int(n) for k, n in zip(sizes, counts, strict=True)},
            "rules": list(sets.rules),
            "judges": judges,
        }
    }


def _judge(study: Study, sets: RankedSets, replies: Sequence[Ranked], seed: int) -> Json:
    """One reading of each set, and whether the other order has the same first option."""
    first = _one_reading_each(replies, seed)
    found = first_places(
        [each.shown.index(each.ranking[0]) for each in first], [len(each.shown) for each in first]
    )
    out: Json = {"sets": len(first), "replies": len(replies)}
    scored = [each for each in first if sets.chosen[each.option_set] > 0]
    right = [each.ranking[0] == sets.chosen[each.option_set] for each in scored]
    items = sets.item[[each.option_set for each in scored]] if scored else sets.item[:0]
    clusters = {"persona": study.shared.persona[items], "question": study.shared.question[items]}
    share = general_proportion(right, Sharing.of_items(len(right), clusters))
    out["right_first"] = cell(share, "value")
    chance = float(np.mean([1 / len(each.shown) for each in scored])) if scored else None
    put(out["right_first"], "chance", number(chance), "empty_group")
    out["position"] = {"n": found.n, "df": found.df}
    for name, part in (("first", found.first), ("last", found.last)):
        put(out["position"], name, number(part.value), part.reason)
        put_interval(out["position"], f"{name}_ci", part.interval, part.reason)
    put(out["position"], "chance", number(found.chance), found.reason)
    put(out["position"], "p", number(found.p), found.p_reason)
    same = _same_in_both_orders(replies)
    out["both_orders"] = {"n": same.n}
    put(out["both_orders"], "same_first", number(same.value), same.reason)
    return out


def _one_reading_each(replies: Sequence[Ranked], seed: int) -> list[Ranked]:
    """One reply for each set, of its first sample; a draw chooses between two orders.

    The draw knows nothing of the options, so the order that it leaves is as random as before.
    """
    found: dict[int, list[Ranked]] = {}
    for each in sorted(replies, key=lambda reply: (reply.sample, reply.shown)):
        of_set = found.setdefault(each.option_set, [])
        if not of_set or of_set[0].sample == each.sample:
            of_set.append(each)
    drawn = []
    for code, orders in sorted(found.items()):
        number = hashlib.sha256(f"{seed}|{code}".encode()).digest()[0]
        drawn.append(orders[number % len(orders)])
    return drawn


def _same_in_both_orders(replies: Sequence[Ranked]) -> Proportion:
    by_order = {(r.option_set, r.sample, r.shown): r.ranking[0] for r in replies}
    same = []
    for (code, sample, shown), best in by_order.items():
        other = by_order.get((code, sample, shown[::-1]))
        if shown < shown[::-1] and other is not None:
            same.append(best == other)
    if not same:
        return Proportion(0, 0, None, reason="empty_group")
    return Proportion(sum(same), len(same), sum(same) / len(same))


def option_sets_table(report: Report) -> Table:
    judges = report["option_sets"]["judges"]
    return table_of_entries(
        "option_sets",
        "Judges that rank whole sets",
        [(run_name(judge, report["judges"]), judge) for judge in judges],
        [
            ("Sets", "count", "sets"),
            ("Replies", "count", "replies"),
            ("is ranked first", "percent", "right_first.value", "The chosen response"),
            ("95 % interval", "percent_range", "right_first.ci", "The chosen response"),
            ("by chance", "percent", "right_first.chance", "The chosen response"),
            ("shown first", "percent", "position.first", _PLACE),
            ("95 % interval", "percent_range", "position.first_ci", _PLACE),
            ("shown last", "percent", "position.last", _PLACE),
            ("by chance", "percent", "position.chance", _PLACE),
            ("p", "p", "position.p", _PLACE),
            ("Same first in both orders", "percent", "both_orders.same_first"),
        ],
        "One reply about each set. Orders are drawn, so without an effect of the place every "
        "place holds the option ranked first equally often (p: chi-squared test). The interval of "
        "the chosen response holds for personas and questions in general.",
        first="Judge",
    )


class OptionSetsSection(Section):
    """How judges rank sets of three to five responses, and whether the place decides."""

    name = "option_sets"
    title = "Sets of options"
    inside = "Rankings of whole sets, and the place of the options"

    def is_needed(self, report: Report) -> bool:
        return "option_sets" in report

    def compute(self, study: Study, earlier: Report) -> Json:
        return option_sets(study)

    def tables(self, report: Report) -> Iterator[Table]:
        if "option_sets" in report:
            yield option_sets_table(report)

    def sentences(self, report: Report) -> Iterator[Sentence]:
        if "option_sets" not in report:
            return
        found = report["option_sets"]
        shared = _SHARED if found["judges"] else ""
        words = _LIMIT.format(items=found["items"], sets=found["sets"], shared=shared)
        yield Sentence.of("limit", words, "option_sets")
