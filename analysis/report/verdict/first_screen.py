"""The first screen of a report: the answer, a chart, up to four caveats, and what to do next.

It is computed from report.json when a page is rendered, so a report's numbers never change.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy import special

from analysis.report.report_json import ReportJson
from analysis.report.rules import CHAPTERS, LEVEL, MIN_COMPARED
from analysis.report.section import on_in
from analysis.report.sections.glance.cautions import caution_texts
from analysis.report.sections.position import length_texts
from analysis.report.sentences import order_words, uneven
from analysis.report.study import competitors, one_label, tied_with
from analysis.report.verdict.answer import (
    COPIED,
    POWER,
    VerdictAnswer,
    answer_of,
    copied,
    counted_people,
    headline_run,
    judge_name,
    no_better_than_guessing,
    replacement_of,
)
from analysis.report.verdict.chart import VerdictChart, chart_of
from analysis.report.words import listed, number_of, run_name
from analysis.stats.comparison.replacement import FEWEST_OF_A_LABEL
from analysis.stats.core.results import FloatArray
from analysis.stats.core.shared_variance import (
    ANNOTATORS_PER_ANSWER,
    FEW_CLUSTERS,
    FEWEST_ANNOTATORS,
)


@dataclass(frozen=True)
class ReportVerdict:
    """What a reader sees before scrolling; `chart` is None if nothing can be compared.

    `unfinished` says how many answers are missing while a study recruits. `notes` name judges that
    tie for the first place, and say what changed with the order of the responses. `sensitivity`
    says for which epsilon the answer holds, if it depends on one.
    """

    unfinished: str
    answer: VerdictAnswer
    notes: list[str]
    chart: VerdictChart | None
    caveats: list[str]
    settling: str
    sensitivity: str


def verdict_of(report: Mapping[str, Any]) -> ReportVerdict:
    return ReportVerdict(
        unfinished_of(report),
        answer_of(report),
        [*tie_notes(report), *order_notes(report)],
        chart_of(report),
        caveats_of(report),
        settling_of(report),
        sensitivity_of(report),
    )


def unfinished_of(report: ReportJson) -> str:
    """How many answers are missing while the study recruits; empty if none are."""
    if not _missing_answers(report):
        return ""
    here, recruiting = report["human"]["answers"], report["human"]["recruiting"]
    return (
        f"Unfinished: {here:,} of {recruiting['wanted']:,} answers, recruiting is "
        f"{recruiting['state']}."
    )


def _missing_answers(report: ReportJson) -> int:
    recruiting = report["human"].get("recruiting", {"wanted": 0})
    return max(0, recruiting["wanted"] - report["human"]["answers"])


def tie_notes(report: ReportJson) -> Iterator[str]:
    """The judges that tie for the first place, of which the answer is about the first."""
    judges = report["judges"]
    if not _has_run(report):
        return
    best = headline_run(report)
    tied = tied_with(judges, best)
    if len(tied) > 1:
        names = [judge_name(report, index) for index in tied]
        score = f"{judges[best]['correct']:,} of {number_of(judges[best]['n'], 'item')} right each"
        about = f"The answer is about {judge_name(report, best)}."
        yield f"Tied for the first place: {listed(names)}, {score}. {about}"


def order_notes(report: ReportJson) -> Iterator[str]:
    """What changed with the order of the responses, for the judge that the answer is about."""
    found = replacement_of(report)
    if found is not None:
        yield from order_words(found.name, report["judges"][found.index])
    elif "run" in report["headline"]:
        index = headline_run(report)
        yield from order_words(judge_name(report, index), report["judges"][index])


SHOWN_CAVEATS = 3
# A judge that refused at least this share of its items is named.
MANY_REFUSED = 0.2
# Two judges that give this many items the same answers, and no other, are named.
FEWEST_ALIKE = 5

# Caveats for readers in order of importance; each gives a sentence, or nothing if it does not
# apply. A banner above the title marks simulated data.
Caveat = Callable[[ReportJson], str]


def _cautions(report: ReportJson) -> list[str]:
    """What would mislead if it were missing; most studies have none."""
    sentences = [str(text) for _, text in caution_texts(_beyond_answer(report))]
    if "run" in report["headline"]:
        text = length_texts(report).get(f"judges.{headline_run(report)}")
        sentences += [str(text)] if text else []
    return sentences


def _beyond_answer(report: ReportJson) -> ReportJson:
    """The report without the caution that the answer itself states: its judge follows people."""
    replaced = replacement_of(report)
    index = replaced.index if replaced else headline_run(report) if _has_run(report) else -1
    if COPIED not in answer_of(report).sentence:
        return report
    cautions = report["cautions"]
    others = [entry for entry in cautions["followed"] if entry["who"] != f"judges.{index}"]
    return {**report, "cautions": {**cautions, "followed": others}}


def _has_run(report: ReportJson) -> bool:
    return "run" in report["headline"]


def _chosen_late(report: ReportJson) -> str:
    registration = report["registration"]
    if report["parameters"]["explored"] or registration["late_changes"]:
        return "The threshold or the margin was chosen after the data."
    plan = registration["plan"]
    if not plan:
        return "No analysis plan was frozen, so everything is exploratory."
    return "" if plan["before_data"] else "The analysis plan was frozen after the first data."


def _agreement_only(report: ReportJson) -> str:
    known = report["headline"]["state"] != "no_truth" or not report["judges"]
    return "" if known else "Agreement is not accuracy: people can agree and be wrong."


def _few(report: ReportJson) -> str:
    found = rests_on(report)
    for kind in (*found.get("too_few", ()), *found.get("one", ()), *found.get("few", ())):
        n = found["clusters"].get(kind)
        what = "person" if kind == "people" else kind.removesuffix("s")
        shown = counted_people(found) if kind == "people" else n and number_of(n, what)
        return f"Only {shown}: others may differ." if n else ""
    return ""


def _unequal(report: ReportJson) -> str:
    """The effective number of people if some gave many more answers."""
    found = rests_on(report)
    if not found.get("clusters", {}).get("people") or "people" in found["too_few"]:
        return ""
    shown = counted_people(found)
    return f"{shown}." if "count as" in shown else ""


def rests_on(report: ReportJson) -> ReportJson:
    """The clusters behind the answer; empty if nothing is compared."""
    if replaced := replacement_of(report):
        return replaced.found
    run = report["headline"].get("run")
    for entry in report["comparison"]:
        if entry["run"] == run:
            found: ReportJson = entry["difference_general"]
            return found
    return {}


def _of_chapters(report: ReportJson) -> str:
    """The caveat of an extra's chapter."""
    failed = report.get("failed_parts", ())
    shown = (chapter for chapter in CHAPTERS.where(on_in(report)) if chapter.name not in failed)
    return next(filter(None, (chapter.caveat(report) for chapter in shown)), "")


def _refusing(report: ReportJson) -> str:
    judges = report["judges"]
    found = [
        f"{run_name(judge, judges)} refused {judge['excluded']['refused']:,} of "
        f"{number_of(judge['items'], 'item')}"
        for judge in judges
        if judge["excluded"]["refused"] >= MANY_REFUSED * max(1, judge["items"])
    ]
    return f"{listed(found)}, and its numbers are about the others." if found else ""


def _identical(report: ReportJson) -> str:
    """Judges that gave every item the same answer as an earlier one."""
    judges, matrix = report["judges"], report["matrix"]
    for one, judge in enumerate(judges):
        # The matrix begins with the people.
        pairs = [
            (run_name(other, judges), matrix[one + 1][place]["n"])
            for place, other in enumerate(judges[one + 1 :], start=one + 2)
            if matrix[one + 1][place]["agreement"] == 1
            and matrix[one + 1][place]["n"] >= FEWEST_ALIKE
        ]
        if pairs:
            names = listed([run_name(judge, judges), *(name for name, _ in pairs)])
            items = listed(list(dict.fromkeys(f"{n:,}" for _, n in pairs)))
            return f"{names} give the same answer to all {items} items that both decided."
    return ""


def _unknown_truth(report: ReportJson) -> str:
    unknown, n = report["inputs"]["truth"]["unknown"], report["inputs"]["items"]
    return f"{unknown:,} of {n:,} items have no known answer." if 0 < unknown < n else ""


def _excluded(report: ReportJson) -> str:
    n = report["human"]["not_counted"].get("excluded_people", 0)
    return f"{n:,} {'person is' if n == 1 else 'people are'} excluded." if n else ""


def _averages(report: ReportJson) -> str:
    return "These are averages. Do not use them for decisions about individuals."


def _stereotypes(report: ReportJson) -> str:
    return "Answers from profiles may be stereotypes."


def _volunteers(report: ReportJson) -> str:
    return "People chose to take part." if report["human"].get("people") else ""


CAVEATS: tuple[Caveat, ...] = (
    _agreement_only,
    _refusing,
    _identical,
    _of_chapters,
    _chosen_late,
    _unequal,
    _few,
    _unknown_truth,
    _excluded,
    _averages,
    _stereotypes,
    _volunteers,
)


def caveats_of(report: ReportJson) -> list[str]:
    """At most three, and one more if there are cautions, which come first."""
    usual = [sentence for caveat in CAVEATS if (sentence := caveat(report))]
    cautions = _cautions(report)[:SHOWN_CAVEATS]
    return [*cautions, *usual][: SHOWN_CAVEATS + bool(cautions)]


# Above this multiple of the present size, more data are not realistic advice.
MOST = 30
MOST_TIMES = 1e9
# Studies drawn for the power of Holm's method with several judges.
DRAWN_STUDIES, DRAWN_SEED = 4_000, 20240701


def settling_of(report: Mapping[str, Any]) -> str:
    """What to do next: what is missing, or what would turn “not yet known” into an answer."""
    state = report["headline"]["state"]
    if more := _missing_answers(report):
        return f"Collect the other {number_of(more, 'answer')}, then build the report again."
    if state == "no_answers":
        return "Answers from people and at least one judge."
    if state == "no_truth":
        return _without_truth(report)
    if state == "judges_only":
        if not report["human"]["answers"]:
            return "Ask people about the same items."
        return "More people per item, so that a majority decides."
    if state == "people_only":
        return "A judge run on the same items."
    difference = report["comparison"][headline_run(report)]["difference_general"]
    if opened := _opened(report):
        return opened
    if state in {"better", "worse", "equivalent"}:
        if "people" in difference["one"]:
            return _enough(report, "for these people and items like these", "Other people need")
        only = [kind.removesuffix("s") for kind in difference["one"]]
        kinds = [kind for kind in ("people", "personas", "questions") if kind[:-1] not in only]
        its_own = f", and for the only {listed(only)}" if only else ""
        return _enough(
            report, f"for {listed(['items', *kinds])} like these{its_own}", "Others need"
        )
    if state == "too_few":
        more = MIN_COMPARED - difference["n"]
        return f"At least {more:,} more items that both decide, because {MIN_COMPARED} are needed."
    if difference["too_few"]:
        return few_kinds(difference)
    factor, finding = times_more(difference, rivals_of(report))
    return _more_in_words(report, difference, factor, finding)


def _opened(report: ReportJson) -> str:
    """What to do if the comparison is decided, but the judge is not shown to be of use."""
    if report["headline"]["state"] not in {"better", "equivalent"} or not _has_run(report):
        return ""
    index = headline_run(report)
    name = judge_name(report, index)
    if one_label(report["comparison"][index].get("pooled_replacement", {})):
        return "A judge that gives more than one label."
    if copied(report, report["headline"].get("run", "")):
        return _asked_again(name)
    low = no_better_than_guessing(report)
    if name in low:
        return f"Another judge, or more items: {name} is not shown to be better than guessing."
    if low:
        return f"More people per item, or more items: {low[0]} may be guessing."
    return ""


def _asked_again(name: str) -> str:
    return (
        f"Find out whether {name} was made from these people’s answers; if so, ask another judge."
    )


def _enough(report: ReportJson, scope: str, others: str) -> str:
    """Nothing more is needed; only what was planned before the data is settled."""
    if "recruiting" in report["human"]:
        return f"No more data are needed {scope}. Close the study, then build the report again."
    plan, changes = (report["registration"][key] for key in ("plan", "late_changes"))
    why = "Nothing was registered"
    if plan and plan["before_data"]:
        if not changes and not report["parameters"]["explored"]:
            return f"It is settled {scope}. {others} their own study."
        why = "The threshold or the margin was chosen after the data"
    return (
        f"No more data are needed {scope}. {why}: confirm it with a plan that is frozen before new "
        f"data. {others} their own study."
    )


def few_kinds(found: Mapping[str, Any]) -> str:
    """The kinds of clusters to increase."""
    few = [kind for kind in found.get("too_few", ()) if kind != "people" or not uneven(found)]
    kinds = [f"{kind} ({_so_far(found, kind)})" for kind in few]
    if uneven(found):
        spread = f"Answers spread more evenly over people: {uneven(found)}"
        more = f", and more {listed(kinds)}" if kinds else ""
        return f"{spread}{more}. At present, nothing can be said about others like them."
    if not kinds:
        return "More items, people, personas and questions."
    return f"More {listed(kinds)}: with so few, nothing can be said about others like them."


def _so_far(found: Mapping[str, Any], kind: str) -> str:
    words = f"{found['clusters'][kind]} so far"
    if kind == "people" and " (" in (counted := counted_people(found)):
        return f"{words}, {counted.split(' (')[1].removesuffix(')')}"
    return words


def sensitivity_of(report: Mapping[str, Any]) -> str:
    """The epsilons for which the answer without right labels holds; empty if irrelevant."""
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
    """Points rounded up, so that the printed epsilon is enough."""
    return f"{math.ceil(max(share, 0.0) * 1000 - 1e-6) / 10:.1f}"


def _without_truth(report: Mapping[str, Any]) -> str:
    found = replacement_of(report)
    if found is None:
        return "Items with a known right answer: what the person themselves said."
    if found.why == "one_label":
        return "A judge that gives more than one label."
    if found.why == "rare_label":
        return "More items with the rarer label, or people who choose it."
    if found.why == "clusters":
        return few_kinds(found.found)
    if found.why == "copied":
        return _asked_again(found.name)
    if found.why == "order":
        return "More items, or a judge that follows what people see in them."
    if found.state != "cannot_tell":
        return (
            "No more data are needed on agreement. To see whether they are right, ask about items "
            "with a known right answer."
        )
    factor = found.times_more()
    if factor > MOST:
        return (
            f"More than {MOST} times as many items and people, or items with a known right answer."
        )
    items = rounded(report["inputs"]["items"] * max(factor - 1, 0))
    people = rounded(report["human"]["annotators"] * max(factor - 1, 0))
    return (
        f"About {items:,} more item{'' if items == 1 else 's'} and {people:,} more "
        f"{'person' if people == 1 else 'people'}, if the agreement seen here is the true one; "
        "or items with a known right answer."
    )


def times_more(
    difference: Mapping[str, Any], rivals: Sequence[Mapping[str, Any]] = ()
) -> tuple[float, str]:
    """How many times as much data would settle it if the observed differences are the true ones.

    With probability `POWER`, a test at 5 % then finds a difference, or finds it inside the margin,
    whichever needs less. Items, people, personas and questions are assumed to grow together. The
    `rivals` are the differences of the other competing runs, which Holm's method tests with it.
    """
    gap, se, margin = abs(difference["value"]), difference["se"], difference["margin"]
    if not se:
        return math.inf, ""
    family = [difference, *(rival for rival in rivals if rival["se"])]
    ways = []
    if gap:
        ways.append((_times_until(partial(_finds, family)), "different"))
    if gap < margin:
        ways.append((_times_until(partial(_finds_inside, family)), "equivalent"))
    return min(ways, default=(math.inf, ""))


def _times_until(power: Callable[[float], float]) -> float:
    """The least multiple of the data whose power is `POWER`."""
    few, many = 0.0, 1.0
    while power(many) < POWER and many < MOST_TIMES:
        few, many = many, many * 2
    for _ in range(30):
        middle = (few + many) / 2
        few, many = (few, middle) if power(middle) >= POWER else (middle, many)
    return many


def _finds(family: Sequence[Mapping[str, Any]], times: float) -> float:
    """How often a study so many times as large finds the first difference."""
    gaps, shrunk = _gaps_and_errors(family, times)
    if len(family) == 1:
        return NormalDist().cdf(abs(gaps[0]) / shrunk[0] - NormalDist().inv_cdf(1 - LEVEL / 2))
    estimates = gaps / shrunk + _noise(len(family))
    return _held(2 * special.ndtr(-np.abs(estimates)))


def _finds_inside(family: Sequence[Mapping[str, Any]], times: float) -> float:
    """How often both one-sided tests of such a study find the first one inside the margin."""
    gaps, shrunk = _gaps_and_errors(family, times)
    margin, normal = family[0]["margin"], NormalDist()
    if len(family) == 1:
        least = normal.inv_cdf(1 - LEVEL)
        upper, lower = ((margin + sign * gaps[0]) / shrunk[0] - least for sign in (-1, 1))
        return normal.cdf(upper) - normal.cdf(-lower)
    estimates = gaps / shrunk + _noise(len(family))
    return _held(special.ndtr(np.abs(estimates) - margin / shrunk))


def _gaps_and_errors(
    family: Sequence[Mapping[str, Any]], times: float
) -> tuple[FloatArray, FloatArray]:
    gaps, errors = (np.array([one[key] for one in family]) for key in ("value", "se"))
    return gaps, errors / math.sqrt(times)


@cache
def _noise(n: int) -> FloatArray:
    """Errors of several runs' differences; half of their variance is that of the same people."""
    rng = np.random.default_rng(DRAWN_SEED)
    own, shared = rng.normal(size=(DRAWN_STUDIES, n)), rng.normal(size=(DRAWN_STUDIES, 1))
    return np.asarray((own + shared) / math.sqrt(2))


def _held(ps: FloatArray) -> float:
    """How often Holm's method rejects the first of several tests, in a row for each study."""
    order = np.argsort(ps, axis=1)
    steps = np.take_along_axis(ps, order, axis=1) * np.arange(ps.shape[1], 0, -1)
    adjusted = np.maximum.accumulate(steps, axis=1)
    return float((adjusted[order == 0] <= LEVEL).mean())


def rivals_of(report: ReportJson) -> list[ReportJson]:
    """The differences of the other runs that compete with the headline's and have a test."""
    best = headline_run(report)
    others = (
        report["comparison"][index]["difference_general"]
        for index in competitors(report["judges"])
        if index != best
    )
    return [rival for rival in others if rival["p"] is not None]


def _more_in_words(
    report: Mapping[str, Any], difference: Mapping[str, Any], factor: float, finding: str
) -> str:
    margin = f"{difference['margin'] * 100:g} points"
    name = judge_name(report, headline_run(report))
    shows = {
        "different": f"that {name} is right {'more' if difference['value'] > 0 else 'less'} often",
        "equivalent": f"that both are right equally often within {margin}",
        "": "a result",
    }[finding]
    if factor > MOST:
        n = report["inputs"]["items"]
        size = f" (about {rounded(n * factor):,} items)" if factor < math.inf else ""
        return (
            f"More than {MOST} times as many items and people{size}, to show {shows}. First ask "
            f"whether a difference of {abs(difference['value']) * 100:.1f} points matters to you: "
            f"a margin wider than {margin} needs fewer, but must be fixed before a new study."
        )
    items = rounded(report["inputs"]["items"] * (factor - 1))
    people = rounded(report["human"]["annotators"] * (factor - 1))
    return (
        f"About {items:,} more item{'' if items == 1 else 's'} and {people:,} more "
        f"{'person' if people == 1 else 'people'}, with new personas and questions. If the "
        f"difference seen here is the true one, such a study shows {shows} four times out of "
        "five."
    )


def rounded(n: float) -> int:
    """Round up to two digits; more would suggest false precision."""
    n = max(1, math.ceil(n - 1e-9))
    unit = 10 ** max(0, len(str(n)) - 2)
    return math.ceil(n / unit) * unit


SETTLED = {"better", "worse", "equivalent"}


def labels_needed(report: Mapping[str, Any]) -> int | None:
    """The number of people's labels that a verdict still needs; 0 if settled, None if unknown.

    It is as rough as the advice on the first screen: it assumes that the observed difference is
    true, and that items, people, personas and questions grow together.
    """
    state = report["headline"]["state"]
    if state in SETTLED and _opened(report):
        return None
    if state in SETTLED:
        return 0
    if state == "no_truth":
        return _until_replaceable(report)
    if state == "judges_only":
        return MIN_COMPARED
    if state not in {"too_few", "cannot_tell"}:
        return None
    labels = report["human"]["answers"]
    difference = report["comparison"][headline_run(report)]["difference_general"]
    if state == "too_few":
        per_item = max(1, math.ceil(labels / report["inputs"]["items"]))
        return (MIN_COMPARED - difference["n"]) * per_item
    if difference["too_few"]:
        return _until_enough(report, difference)
    return _more_labels(labels, times_more(difference, rivals_of(report))[0])


def _until_replaceable(report: Mapping[str, Any]) -> int | None:
    found = replacement_of(report)
    if found is None:
        # Without second labels, people's agreement is unknown.
        return MIN_COMPARED if report["human"]["answers"] and report["judges"] else None
    if found.state != "cannot_tell":
        return 0
    labels, rarest = report["human"]["answers"], found.found.get("rarest")
    if found.why == "rare_label":
        return _more_labels(labels, FEWEST_OF_A_LABEL / rarest) if rarest else None
    if found.why == "clusters":
        return _until_enough(report, found.found)
    if found.why:
        return None
    return _more_labels(report["human"]["answers"], found.times_more())


def _until_enough(report: Mapping[str, Any], found: Mapping[str, Any]) -> int | None:
    """Labels until there are enough people, personas and questions, with equal loads."""
    if not found.get("too_few"):
        return None
    labels = report["human"]["answers"]
    per_item = labels / report["inputs"]["items"]
    wanted = {"people": max(FEWEST_ANNOTATORS, ANNOTATORS_PER_ANSWER * per_item)}
    present = dict(found["clusters"])
    if effective := found.get("people_effective"):
        present["people"] = min(effective, present["people"])
    factor = max(wanted.get(kind, FEW_CLUSTERS) / present[kind] for kind in found["too_few"])
    return _more_labels(labels, factor) or None


def _more_labels(labels: int, factor: float) -> int | None:
    return None if math.isinf(factor) else rounded(labels * max(factor - 1, 0))
