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

from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    Text,
    Words,
    bare,
    clause,
    joined,
    say,
    sentences,
    unbroken,
)
from analysis.report.registration import mark_of
from analysis.report.report_json import ReportJson
from analysis.report.results import (
    NOTHING,
    clusters_of,
    decided_by_both,
    decided_by_judge,
    excluded_people,
    is_about_themselves,
    is_lopsided,
    items,
    scope_of,
    uneven,
    unplanned,
)
from analysis.report.rules import CHAPTERS, LEVEL, MIN_COMPARED
from analysis.report.section import on_in
from analysis.report.sections.glance.cautions import caution_texts
from analysis.report.sections.position import length_texts
from analysis.report.sentences import MAJORITY, order_words
from analysis.report.study import competitors, one_label, tied_with
from analysis.report.verdict.answer import (
    COPIED,
    MADE,
    MANY_COPY,
    NO,
    POWER,
    SEEN,
    YES,
    VerdictAnswer,
    answer_of,
    copied,
    counted_people,
    effective_people,
    headline_run,
    judge_name,
    known_from_people,
    may_guess,
    no_better_than_guessing,
    pasted_by_many,
    replacement_of,
    saw_answers,
)
from analysis.report.verdict.chart import VerdictChart, chart_of
from analysis.report.words import MAJORITY_WORDS, listed, people_words, run_name
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
        [unbroken(note) for note in (*tie_notes(report), *order_notes(report))],
        chart_of(report),
        caveats_of(report),
        settling_of(report),
        sensitivity_of(report),
    )


def unfinished_of(report: ReportJson) -> str:
    """How many answers are missing while the study recruits; empty if none are."""
    if not _missing_answers(report):
        return ""
    recruiting = report["human"]["recruiting"]
    answers = Population("answer", n=report["human"]["answers"], among=recruiting["wanted"])
    text = say(
        "Unfinished: {here} of {answers.among}, recruiting is {state}.",
        here=Quantity("count", answers, answers.n),
        answers=answers,
        state=Words(recruiting["state"]),
    )
    return unbroken(text)


def _missing_answers(report: ReportJson) -> int:
    recruiting = report["human"].get("recruiting", {"wanted": 0})
    return max(0, recruiting["wanted"] - report["human"]["answers"])


def tie_notes(report: ReportJson) -> Iterator[Text]:
    """The judges that tie for the first place, of which the answer is about the first."""
    judges = report["judges"]
    if not _has_run(report):
        return
    best = headline_run(report)
    tied = tied_with(judges, best)
    if len(tied) > 1:
        of = decided_by_judge(report, best)
        yield say(
            "Tied for the first place: {names}, {correct} of {of.n} right each. The answer is "
            "about {name}.",
            names=joined([clause("{name}", name=Name(judge_name(report, n))) for n in tied]),
            correct=Quantity("count", of, judges[best]["correct"]),
            of=of,
            name=Name(judge_name(report, best)),
        )


def order_notes(report: ReportJson) -> Iterator[Text]:
    """What changed with the order of the responses, for the judge that the answer is about."""
    replaced = replacement_of(report)
    if replaced is not None:
        yield from order_words(replaced.name, report["judges"][replaced.index])
    elif "run" in report["headline"]:
        index = headline_run(report)
        yield from order_words(judge_name(report, index), report["judges"][index])
    else:
        for judge in _changing_with_order(report):
            yield from order_words(run_name(judge, report["judges"]), judge)


def _changing_with_order(report: ReportJson) -> list[ReportJson]:
    """The judges that changed every choice with the order, so that none of their answers counts."""
    orders = [(judge, judge["position"]["both_orders"]) for judge in report["judges"]]
    return [judge for judge, both in orders if both["n"] and not both["consistent"]]


SHOWN_CAVEATS = 3
# A judge that refused at least this share of its items is named.
MANY_REFUSED = 0.2
# If so many of the answered items have one answer, their majority is no majority.
MANY_ALONE = 0.2
# Two judges that give this many items the same answers, and no other, are named.
FEWEST_ALIKE = 5

# Caveats for readers in order of importance; each gives a sentence, or nothing if it does not
# apply. A banner above the title marks simulated data.
Caveat = Callable[[ReportJson], Text | None]


def _cautions(report: ReportJson) -> list[Text]:
    """What would mislead if it were missing; most studies have none."""
    sentences = [text for _, text in caution_texts(_beyond_answer(report))]
    if "run" in report["headline"]:
        text = length_texts(report).get(f"judges.{headline_run(report)}")
        sentences += [text] if text else []
    return sentences


def _beyond_answer(report: ReportJson) -> ReportJson:
    """The report without the caution that the answer itself states: somebody follows people."""
    if MADE in answer_of(report).sentence:
        cautions = {kind: one for kind, one in report["cautions"].items() if kind != "known"}
        return {**report, "cautions": cautions}
    if COPIED not in answer_of(report).sentence:
        return report
    cautions, own = report["cautions"], f"judges.{_judge_of_answer(report)}"
    others = {
        kind: [entry for entry in cautions.get(kind, ()) if entry["who"] != own]
        for kind in ("followed", "pasted")
    }
    return {**report, "cautions": cautions | others}


def _judge_of_answer(report: ReportJson) -> int | None:
    """The position of the judge that the answer is about, if it is about one."""
    if replaced := replacement_of(report):
        return replaced.index
    return headline_run(report) if _has_run(report) else None


def _has_run(report: ReportJson) -> bool:
    return "run" in report["headline"]


def _chosen_late(report: ReportJson) -> Text | None:
    registration = report["registration"]
    if report["parameters"]["explored"] or registration["late_changes"]:
        return say("The threshold or the margin was chosen after the data.")
    plan = registration["plan"]
    if not plan:
        return unplanned(report)
    if not plan["before_data"]:
        return say("The analysis plan was frozen after the first data.")
    return say("This comparison departs from the analysis plan.") if _departs(report) else None


def _departs(report: ReportJson) -> bool:
    """Whether the answer is about something that the plan did not name, or not so."""
    if not _has_run(report):
        return False
    path = ("comparison", headline_run(report), "difference_general", "value")
    return mark_of(report, path) == "explored"


def _agreement_only(report: ReportJson) -> Text | None:
    known = report["headline"]["state"] != "no_truth" or not report["judges"]
    return None if known else say("Agreement is not accuracy: people can agree and be wrong.")


def _few(report: ReportJson) -> Text | None:
    basis = rests_on(report)
    named = report["inputs"]
    for kind in (*basis.get("too_few", ()), *basis.get("one", ()), *basis.get("few", ())):
        if not basis["clusters"].get(kind) or is_lopsided(basis, kind):
            return None
        if not named.get(kind, 1):
            # A table without questions says nothing about how many there are.
            continue
        of, who = clusters_of(basis, kind, report=report), effective_people(basis)
        few = clause("{of} ({who})", of=of, who=who) if kind == "people" and who else of
        return say("Only {few}: others may differ.", few=few)
    return None


def _unequal(report: ReportJson) -> Text | None:
    """The effective number of people if some gave many more answers."""
    basis = rests_on(report)
    if not basis.get("clusters", {}).get("people") or "people" in basis["too_few"]:
        return None
    is_unequal = effective_people(basis) is not None
    return say("{people}.", people=counted_people(basis)) if is_unequal else None


def _alone(report: ReportJson) -> Text | None:
    """How often the majority is the answer of one person, where other items have more."""
    answers = report["human"].get("coverage", {})
    n, answered = answers.get("1", 0), sum(answers.values()) - answers.get("0", 0)
    if people_words(report) != MAJORITY_WORDS or n < MANY_ALONE * max(1, answered):
        return None
    return say("On {alone}, the majority is one person’s answer.", alone=items(report, "", n))


def rests_on(report: ReportJson) -> ReportJson:
    """The clusters behind the answer; empty if nothing is compared."""
    if replaced := replacement_of(report):
        return replaced.found
    run = report["headline"].get("run")
    for entry in report["comparison"]:
        if entry["run"] == run:
            difference: ReportJson = entry["difference_general"]
            return difference
    return {}


def _of_chapters(report: ReportJson) -> Text | None:
    """The caveat of an extra's chapter."""
    failed = report.get("failed_parts", ())
    chapters = (chapter for chapter in CHAPTERS.where(on_in(report)) if chapter.name not in failed)
    words = next(filter(None, (chapter.caveat(report) for chapter in chapters)), "")
    return bare(words) if words else None


def _refusing(report: ReportJson) -> Text | None:
    judges = report["judges"]
    refused = [
        clause(
            "{judge} refused {n} of {n.of}",
            judge=Name(run_name(judge, judges)),
            n=Quantity("count", items(report, "that it was asked", judge["items"]), n),
        )
        for judge in judges
        if (n := judge["excluded"]["refused"]) >= MANY_REFUSED * max(1, judge["items"])
    ]
    if not refused:
        return None
    return say("{refused}, and its numbers are about the others.", refused=joined(refused))


def _identical(report: ReportJson) -> Text | None:
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
            name, same = run_name(judge, judges), [items(report, "", n) for _, n in pairs]
            if len({n for _, n in pairs}) == 1:
                return say(
                    "{names} give the same answer to all {of.size} items that {both} decided.",
                    names=Name(listed([name, *(other for other, _ in pairs)])),
                    of=same[0],
                    both=Words("both" if len(pairs) == 1 else "two of them"),
                )
            others = [
                clause("as {other} to all {of.size}", other=Name(other), of=of)
                for (other, _), of in zip(pairs, same, strict=True)
            ]
            form = "{name} gives the same answer {others} items that both decided."
            return say(form, name=Name(name), others=joined(others))
    return None


def _perfect(report: ReportJson) -> Text | None:
    """A judge that may have seen the known answers, unless the answer names it."""
    answered = _judge_of_answer(report) if SEEN in answer_of(report).sentence else None
    others = (n for n in range(len(report["judges"])) if n != answered)
    text = next(filter(None, (saw_answers(report, n) for n in others)), None)
    return say("{text}.", text=text) if text else None


def _less_of_persona(report: ReportJson) -> Text | None:
    """The judge of the answer, if it saw less of the persona than people did."""
    index = _judge_of_answer(report)
    if index is None:
        return None
    judge = report["judges"][index]
    if judge["features"] == "all":
        return None
    form = "{name} saw only {features} of the persona."
    if judge["features"] == "none":
        form = "{name} did not see the persona."
    features = Name(listed(judge["features"].split(",")))
    return say(form, name=Name(judge["judge"]), features=features)


def _unknown_truth(report: ReportJson) -> Text | None:
    unknown = items(report, "", report["inputs"]["truth"]["unknown"])
    if unknown.is_whole or not unknown.n:
        return None
    return say("{unknown} {unknown.has} no known answer.", unknown=unknown)


def _excluded(report: ReportJson) -> Text | None:
    people = excluded_people(report)
    return say("{people}.", people=people) if people else None


def _averages(report: ReportJson) -> Text:
    return say("These are averages. Do not use them for decisions about individuals.")


def _stereotypes(report: ReportJson) -> Text | None:
    if not report["inputs"]["personas"]:
        return None
    return say("Answers from profiles may be stereotypes.")


def _volunteers(report: ReportJson) -> Text | None:
    return say("People chose to take part.") if report["human"].get("people") else None


CAVEATS: tuple[Caveat, ...] = (
    _agreement_only,
    _refusing,
    _identical,
    _perfect,
    _less_of_persona,
    _of_chapters,
    _alone,
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
    texts = [*cautions, *usual][: SHOWN_CAVEATS + bool(cautions)]
    return [str(text) for text in texts]


# Above this multiple of the present size, more data are not realistic advice.
MOST = 30
MOST_TIMES = 1e9
# Studies drawn for the power of Holm's method with several judges.
DRAWN_STUDIES, DRAWN_SEED = 4_000, 20240701


def settling_of(report: ReportJson) -> str:
    """What to do next: what is missing, or what would turn “not yet known” into an answer."""
    return unbroken(_settling(report))


def _settling(report: ReportJson) -> Text:
    state = report["headline"]["state"]
    if advice := _to_check(report):
        return advice
    if more := _missing_answers(report):
        of = Population("answer", n=more)
        other = Words("the other " if report["human"]["answers"] else "")
        return say("Collect {other}{of}, then build the report again.", other=other, of=of)
    match state:
        case "no_answers":
            return say("Collect answers from people and from at least one judge.")
        case "no_truth":
            return _without_truth(report)
        case "judges_only" if not report["human"]["answers"]:
            return say("Ask people about the same items.")
        case "judges_only":
            return say("Ask more people about each item, so that a majority decides.")
        case "people_only" if _changing_with_order(report):
            return say("Run a judge that keeps its choice when the responses change places.")
        case "people_only" if report["judges"]:
            return say("Run a judge whose answers count.")
        case "people_only":
            return say("Run a judge on the same items.")
    difference = report["comparison"][headline_run(report)]["difference_general"]
    if advice := _opened(report):
        return advice
    if state in SETTLED:
        if "people" in difference["one"]:
            return _enough(report, "for these people and items like these", "Other people need")
        kinds, only = scope_of(report, difference)
        its_own = f", and for the only {listed(only)}" if only else ""
        return _enough(
            report, f"for {listed(['items', *kinds])} like these{its_own}", "Others need"
        )
    if state == "too_few":
        at_least = say(
            "Add at least {more} items that both decide, because {fewest} are needed.",
            more=_planned(MIN_COMPARED - difference["n"]),
            fewest=_planned(MIN_COMPARED),
        )
        few = [few_kinds(report, difference)] if difference["too_few"] else []
        return sentences(at_least, *few)
    if difference["too_few"]:
        return few_kinds(report, difference)
    return _more_in_words(report, difference)


def _to_check(report: ReportJson) -> Text | None:
    """What to do first if a caution says that no comparison of these answers means anything."""
    cautions, index = report.get("cautions", {}), _judge_of_answer(report)
    run = "" if index is None else report["judges"][index]["run"]
    if index is not None and copied(report, run) and not pasted_by_many(report, run):
        return say(
            "Find out whether {name} was made from these people’s answers; if so, ask another "
            "judge.",
            name=Name(judge_name(report, index)),
        )
    if known_from_people(report):
        return say(
            "Find out whether the known answers were made from these people’s; if so, use others."
        )
    if _has_run(report) and saw_answers(report, headline_run(report)):
        return say(
            "Find out whether {name} saw the known answers, in its prompt or in its file; if so, "
            "ask it again without them.",
            name=Name(judge_name(report, headline_run(report))),
        )
    is_compared = report["headline"]["state"] in COMPARED
    if advice := _nothing_to_compare(report) if is_compared else None:
        return advice
    for kind, why in (
        ("pasted", "copied a judge, or it was made from their answers"),
        ("alike", "are one person or copied"),
    ):
        if entries := [entry for entry in cautions.get(kind, ()) if _matters(entry, report)]:
            return say(
                "Find out whether {people} {why}; if so, exclude the copies and build the report "
                "again.",
                people=Population("person", n=entries[0]["people"], among=entries[0]["among"]),
                why=Words(why),
            )
    if "easy" in cautions and report["headline"]["state"] == "equivalent":
        return say("Ask about harder items: nobody errs on these often enough to differ.")
    return None


def _matters(copies: ReportJson, report: ReportJson) -> bool:
    """Whether copies by so many people could decide the comparison, or nothing else is to do."""
    is_settled = answer_of(report).word in {YES, NO}
    return is_settled or copies["people"] >= MANY_COPY * copies["among"]


def _nothing_to_compare(report: ReportJson) -> Text | None:
    """What to do if people say nothing that more data would make clear."""
    cautions, index = report.get("cautions", {}), headline_run(report)
    ties = {side["who"]: side["ties"] == side["n"] for side in cautions.get("tied", ())}
    chance = 1 / (3 if report["study"]["allow_tie"] else 2)
    majority = report["human"]["majority"]
    if ties.get(MAJORITY):
        return say(
            "Ask without ties, or about responses that differ more: no majority chose a response."
        )
    if MAJORITY in ties and _is_below(majority, chance):
        return say(
            "Ask without ties, or about responses that differ more: people’s ties count as wrong."
        )
    sides = {
        MAJORITY: (people_words(report), majority),
        f"judges.{index}": (judge_name(report, index), report["judges"][index]),
    }
    # Sides that give many ties are right less often without any exchange.
    below = [
        name
        for who, (name, side) in sides.items()
        if who not in ties and side["n"] >= MIN_COMPARED and _is_below(side, chance)
    ]
    if len(below) == len(sides):
        return say(
            "Check the known answers first: people and judge are right less often than by chance, "
            "as if responses were exchanged."
        )
    if below:
        return say(
            "Check the answers of {who} first: they are right less often than by chance, as if "
            "responses were exchanged.",
            who=Name(below[0]),
        )
    for side in cautions.get("constant", ()):
        if side["who"] == MAJORITY and _is_below(majority, side["constant"] / side["n"]):
            return say(
                "Ask about items of which neither response is the usual right one: people are "
                "right less often than a constant answer."
            )
    return None


def _is_below(side: ReportJson, chance: float) -> bool:
    if side["n"] < MIN_COMPARED:
        return False
    ends = side["clusters"].get("ci_as_best") or side["clusters"]["ci"]
    return side["accuracy"] == 0 if ends is None else bool(ends[1] < chance)


def _opened(report: ReportJson) -> Text | None:
    """What to do if the comparison is decided, but the judge is not shown to be of use."""
    if report["headline"]["state"] not in {"better", "equivalent"} or not _has_run(report):
        return None
    index = headline_run(report)
    name = judge_name(report, index)
    if one_label(report["comparison"][index].get("pooled_replacement", {})):
        return say("Run a judge that gives more than one label.")
    low = no_better_than_guessing(report)
    if name in low:
        return say(
            "Run another judge, or ask about more items: {low}.", low=may_guess([Name(name)])
        )
    if low:
        return say(
            "Ask more people about each item, or about more items: {low} may be guessing.",
            low=low[0],
        )
    return None


def _planned(n: float) -> Quantity:
    """A number of what a study would need, which is about nothing in this one."""
    return Quantity("count", None, n)


def _enough(report: ReportJson, scope: str, others: str) -> Text:
    """Nothing more is needed; only what was planned before the data is settled."""
    words = {"scope": Words(scope), "others": Words(others)}
    if "recruiting" in report["human"]:
        form = "No more data are needed {scope}. Close the study, then build the report again."
        return say(form, **words)
    plan, changes = (report["registration"][key] for key in ("plan", "late_changes"))
    is_planned = plan and plan["before_data"] and not _departs(report)
    if is_planned and not changes and not report["parameters"]["explored"]:
        return say("It is settled {scope}. {others} their own study.", **words)
    return say(
        "No more data are needed {scope}. Confirm it with a plan that is frozen before new data. "
        "{others} their own study.",
        **words,
    )


def few_kinds(report: ReportJson, basis: ReportJson) -> Text:
    """The kinds of clusters to increase."""
    cause = uneven(basis)
    few = [kind for kind in basis.get("too_few", ()) if kind != "people" or not cause]
    lopsided = [kind for kind in few if is_lopsided(basis, kind)]
    few = [kind for kind in few if kind not in lopsided]
    more = joined([_so_far(report, basis, kind) for kind in few])
    if lopsided and not cause:
        return say(
            "Spread items more evenly over {kinds}{more}: at present one or a few have most of "
            "them.",
            kinds=Words(listed(lopsided)),
            more=clause(", and add {more}", more=more) if few else NOTHING,
        )
    if cause:
        return say(
            "Spread answers more evenly over people: {cause}{more}. At present, nothing can be "
            "said about others like them.",
            cause=cause,
            more=clause(", and add {more}", more=more) if few else Words(""),
        )
    if not few:
        return say("Add items, people, personas and questions.")
    return say("Add {more}: with so few, nothing can be said about others like them.", more=more)


def _so_far(report: ReportJson, basis: ReportJson, kind: str) -> Text:
    of, who = clusters_of(basis, kind, report=report), effective_people(basis)
    form = "{kind} ({of.size} so far{also})"
    if not of.is_whole:
        form = "{kind} ({of.size} of {of.among} so far, behind the comparison{also})"
    also = clause(", {who}", who=who) if kind == "people" and who else Words("")
    return clause(form, kind=Words(kind), of=of, also=also)


def sensitivity_of(report: ReportJson) -> str:
    """The epsilons for which the answer without right labels holds; empty if irrelevant."""
    replaced = replacement_of(report)
    if (
        replaced is None
        or replaced.why in {"rare_label", "clusters"}
        or replaced.holds_below is None
    ):
        return ""
    no = Quantity("size", replaced.of, replaced.holds_below)
    if replaced.state == "not_replaceable":
        return str(say("The answer is the same for every ε below {no} points.", no=no))
    if replaced.why or replaced.holds_from is None:
        return ""
    # Rounded up, so that the printed epsilon is enough.
    enough = math.ceil(max(replaced.holds_from, 0.0) * 1000 - 1e-6) / 1000
    yes = Quantity("size", replaced.of, enough)
    if replaced.state == "replaceable":
        return str(say("The answer is the same for every ε of {yes} points or more.", yes=yes))
    form = "With an ε of {yes} points or more the answer would be “could”"
    if no.value > 0:
        return str(say(f"{form}, with one below {{no}} “could not”.", yes=yes, no=no))
    return str(say(f"{form}.", yes=yes))


def _without_truth(report: ReportJson) -> Text:
    replaced = replacement_of(report)
    is_own = is_about_themselves(report)
    if replaced is None and is_own:
        return say("Ask at least two people about each item, and run a judge.")
    if replaced is None:
        return say("Use items with a known right answer: what the person themselves said.")
    match replaced.why:
        case "one_label":
            return say("Run a judge that gives more than one label.")
        case "rare_label":
            return say("Add items with the rarer label, or people who choose it.")
        case "clusters":
            return few_kinds(report, replaced.found)
        case "order":
            return say("Ask about more items, or run a judge that follows what people see in them.")
    if replaced.state != "cannot_tell" and is_own:
        return say("No more data are needed on agreement.")
    if replaced.state != "cannot_tell":
        return say(
            "No more data are needed on agreement. To see whether people and judge are right, ask "
            "about items with a known right answer."
        )
    factor = replaced.times_more()
    if factor > MOST:
        return say(
            "More than {most} times as many items and people{known}.",
            most=_planned(MOST),
            known=Words("" if is_own else ", or items with a known right answer"),
        )
    return say(
        "About {more}, if the agreement seen here is the true one{known}.",
        more=_more(report, factor),
        known=Words("" if is_own else "; or items with a known right answer"),
    )


def _more(report: ReportJson, factor: float) -> Text:
    """So many more items and people that there are `factor` times as many."""
    here = (report["inputs"]["items"], report["human"]["annotators"])
    more_items, people = (rounded(n * max(factor - 1, 0)) for n in here)
    return clause(
        "{items} more {item} and {people} more {person}",
        items=_planned(more_items),
        item=Words("item" if more_items == 1 else "items"),
        people=_planned(people),
        person=Words("person" if people == 1 else "people"),
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


def _more_in_words(report: ReportJson, difference: ReportJson) -> Text:
    factor, finding = times_more(difference, rivals_of(report))
    margin = Quantity("margin", None, difference["margin"])
    shows = clause("a result")
    if finding == "equivalent":
        shows = clause("that both are right equally often within {margin} points", margin=margin)
    elif finding:
        shows = clause(
            "that {name} is right {more} often",
            name=Name(judge_name(report, headline_run(report))),
            more=Words("more" if difference["value"] > 0 else "less"),
        )
    if factor > MOST:
        of = decided_by_both(report, headline_run(report))
        size: Text | Words = Words("")
        if factor < math.inf:
            total = _planned(rounded(report["inputs"]["items"] * factor))
            size = clause(" (about {total} items)", total=total)
        return say(
            "More than {most} times as many items and people{size}, to show {shows}. First ask "
            "whether a difference of {gap} points, as on {gap.some}, matters to you: a margin "
            "wider than {margin} points needs fewer, but must be fixed before a new study.",
            most=_planned(MOST),
            size=size,
            shows=shows,
            gap=Quantity("size", of, difference["value"]),
            margin=margin,
        )
    new = [kind for kind in scope_of(report, difference)[0] if kind != "people"]
    return say(
        "About {more}{new}. If the difference seen here is the true one, four of five such studies "
        "show {shows}.",
        more=_more(report, factor),
        new=Words(f", with new {listed(new)}" if new else ""),
        shows=shows,
    )


def rounded(n: float) -> int:
    """Round up to two digits; more would suggest false precision."""
    n = max(1, math.ceil(n - 1e-9))
    unit = 10 ** max(0, len(str(n)) - 2)
    return math.ceil(n / unit) * unit


SETTLED = {"better", "worse", "equivalent"}
COMPARED = SETTLED | {"cannot_tell", "too_few"}


def labels_needed(report: Mapping[str, Any]) -> int | None:
    """The number of people's labels that a verdict still needs; 0 if settled, None if unknown.

    It is as rough as the advice on the first screen: it assumes that the observed difference is
    true, and that items, people, personas and questions grow together.
    """
    state = report["headline"]["state"]
    if _to_check(report) or (state in SETTLED and _opened(report)):
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
    replaced = replacement_of(report)
    if replaced is None:
        # Without second labels, people's agreement is unknown.
        return MIN_COMPARED if report["human"]["answers"] and report["judges"] else None
    if replaced.state != "cannot_tell":
        return 0
    labels, rarest = report["human"]["answers"], replaced.found.get("rarest")
    if replaced.why == "rare_label":
        return _more_labels(labels, FEWEST_OF_A_LABEL / rarest) if rarest else None
    if replaced.why == "clusters":
        return _until_enough(report, replaced.found)
    if replaced.why:
        return None
    return _more_labels(report["human"]["answers"], replaced.times_more())


def _until_enough(report: Mapping[str, Any], basis: Mapping[str, Any]) -> int | None:
    """Labels until there are enough people, personas and questions, with equal loads."""
    if not basis.get("too_few"):
        return None
    labels = report["human"]["answers"]
    per_item = labels / report["inputs"]["items"]
    wanted = {"people": max(FEWEST_ANNOTATORS, ANNOTATORS_PER_ANSWER * per_item)}
    present = dict(basis["clusters"])
    if effective := basis.get("people_effective"):
        present["people"] = min(effective, present["people"])
    factor = max(wanted.get(kind, FEW_CLUSTERS) / present[kind] for kind in basis["too_few"])
    return _more_labels(labels, factor) or None


def _more_labels(labels: int, factor: float) -> int | None:
    return None if math.isinf(factor) else rounded(labels * max(factor - 1, 0))
