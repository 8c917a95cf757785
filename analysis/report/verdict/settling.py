"""About how many more items and people would settle the comparison."""

import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

from analysis.report.rules import LEVEL, MIN_COMPARED
from analysis.report.text.names import listed
from analysis.report.text.verdicts import uneven
from analysis.report.verdict.answer import counted_people, headline_run, judge_name
from analysis.report.verdict.replacement import POWER, replacement_of

# Beyond this many times the present size, more data are no advice.
MOST = 30


def settling_of(report: Mapping[str, Any]) -> str:
    """What would turn “not yet known” into an answer, as one or two sentences."""
    state = report["headline"]["state"]
    if state == "no_answers":
        return "Answers of people and of at least one judge."
    if state == "no_truth":
        return _without_truth(report)
    if state == "judges_only":
        return "More people at each item, so that a majority decides it."
    if state == "people_only":
        return "A judge: run one on the same items."
    difference = report["comparison"][headline_run(report)]["difference_general"]
    if state in {"better", "worse", "equivalent"}:
        if "people" in difference["one"]:
            return (
                "It is settled for these people and for items like these. Other people need a "
                "study of their own."
            )
        only = [kind.removesuffix("s") for kind in difference["one"]]
        kinds = [kind for kind in ("people", "personas", "questions") if kind[:-1] not in only]
        its_own = f", and for the only {listed(only)}" if only else ""
        return (
            f"It is settled for {listed(['items', *kinds])} like these{its_own}. Others need a "
            "study of their own."
        )
    if state == "too_few":
        more = MIN_COMPARED - difference["n"]
        return f"At least {more:,} more items that both decide; {MIN_COMPARED} are the least."
    if difference["too_few"]:
        return few_kinds(difference)
    factor, finding = times_more(difference)
    return _more(report, difference, factor, finding)


def few_kinds(found: Mapping[str, Any]) -> str:
    """The kinds of which more are needed."""
    few = [kind for kind in found.get("too_few", ()) if kind != "people" or not uneven(found)]
    kinds = [f"{kind} ({_so_far(found, kind)})" for kind in few]
    if uneven(found):
        spread = f"Answers spread over more of the people: {uneven(found)}"
        more = f", and more {listed(kinds)}" if kinds else ""
        return f"{spread}{more}. As it is, nothing can be said about others like them."
    if not kinds:
        return "More items, people, personas and questions."
    return f"More {listed(kinds)}: with so few, nothing can be said about others like them."


def _so_far(found: Mapping[str, Any], kind: str) -> str:
    words = f"{found['clusters'][kind]} so far"
    if kind == "people" and " (" in (counted := counted_people(found)):
        return f"{words}, {counted.split(' (')[1].removesuffix(')')}"
    return words


def sensitivity_of(report: Mapping[str, Any]) -> str:
    """For which epsilon the answer without right labels holds; empty where it depends on none."""
    found = replacement_of(report)
    if found is None or found.why in {"rare_label", "clusters"} or found.holds_below is None:
        return ""
    yes, no = found.holds_from, found.holds_below
    if found.state == "not_replaceable":
        return f"The answer is the same for every ε below {no * 100:.1f} points."
    if found.why or yes is None:
        return ""
    if found.state == "replaceable":
        return f"The answer is the same for every ε of {_at_least(yes)} points or more."
    ends = f"With an ε of {_at_least(yes)} points or more the answer would be “could”"
    return f"{ends}, with one below {no * 100:.1f} “could not”." if no > 0 else f"{ends}."


def _at_least(share: float) -> str:
    """Points rounded up, so that an epsilon which is printed is enough."""
    return f"{math.ceil(max(share, 0.0) * 1000 - 1e-6) / 10:.1f}"


def _without_truth(report: Mapping[str, Any]) -> str:
    found = replacement_of(report)
    if found is None:
        return "Items whose right answer is known: what the person themselves said."
    if found.why == "one_label":
        return "A judge that gives more than one label."
    if found.why == "rare_label":
        return "More items with the rarer label, or people who give it."
    if found.why == "clusters":
        return few_kinds(found.found)
    if found.why == "order":
        return "More items, or a judge that follows what people see in them."
    if found.state != "cannot_tell":
        return (
            "Agreement is settled for items and people like these. Whether they are right needs "
            "items whose right answer is known."
        )
    factor = found.times_more()
    if factor > MOST:
        return (
            f"More than {MOST} times as many items and people, or items whose right answer is "
            "known."
        )
    items = rounded(report["inputs"]["items"] * max(factor - 1, 0))
    people = rounded(report["human"]["annotators"] * max(factor - 1, 0))
    return (
        f"About {items:,} more item{'' if items == 1 else 's'} and {people:,} more "
        f"{'person' if people == 1 else 'people'}, if the agreement seen here is the true one; or "
        "items whose right answer is known."
    )


def times_more(difference: Mapping[str, Any]) -> tuple[float, str]:
    """How many times as much data would settle it if the observed difference is the true one.

    With the probability `POWER`, a test at 5 % (divided among the runs that compete) then finds a
    difference, or finds it inside the margin, whichever needs less. Everything is taken to grow
    together: items, people, personas and questions.
    """
    gap, se, margin = abs(difference["value"]), difference["se"], difference["margin"]
    if not se:
        return math.inf, ""
    quantile = NormalDist().inv_cdf
    level = LEVEL / difference["family"]
    apart = quantile(1 - level / 2) + quantile(POWER)
    inside = quantile(1 - level) + quantile((1 + POWER) / 2)
    ways = []
    if gap:
        ways.append(((apart * se / gap) ** 2, "different"))
    if gap < margin:
        ways.append(((inside * se / (margin - gap)) ** 2, "equivalent"))
    return min(ways, default=(math.inf, ""))


def _more(
    report: Mapping[str, Any], difference: Mapping[str, Any], factor: float, finding: str
) -> str:
    margin = f"{difference['margin'] * 100:g} points"
    if factor > MOST:
        n = report["inputs"]["items"]
        size = f" (about {rounded(n * factor):,} items)" if factor < math.inf else ""
        return (
            f"More than {MOST} times as many items and people{size}. Ask first whether a "
            f"difference of {abs(difference['value']) * 100:.1f} points matters to you: a wider "
            f"margin than {margin} needs fewer, but must be fixed before a new study."
        )
    name = judge_name(report, headline_run(report))
    found = {
        "different": f"that {name} is right {'more' if difference['value'] > 0 else 'less'} often",
        "equivalent": f"that both are right equally often within {margin}",
    }[finding]
    items = rounded(report["inputs"]["items"] * (factor - 1))
    people = rounded(report["human"]["annotators"] * (factor - 1))
    return (
        f"About {items:,} more item{'' if items == 1 else 's'} and {people:,} more "
        f"{'person' if people == 1 else 'people'}, with new personas and questions. If the "
        f"difference seen here is the true one, four times out of five such a study shows {found}."
    )


def rounded(n: float) -> int:
    """Rounded up to two digits: more of them would promise too much."""
    n = max(1, math.ceil(n - 1e-9))
    unit = 10 ** max(0, len(str(n)) - 2)
    return math.ceil(n / unit) * unit
