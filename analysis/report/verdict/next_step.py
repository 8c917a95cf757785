"""What to do next: what is missing, or how much more data would settle the answer."""

import math
from collections.abc import Mapping
from typing import Any

from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    Text,
    Words,
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
    is_about_themselves,
    is_lopsided,
    scope_of,
    uneven,
)
from analysis.report.rules import MIN_COMPARED
from analysis.report.sentences import MAJORITY
from analysis.report.study import one_label
from analysis.report.verdict.answer import (
    MANY_COPY,
    NO,
    YES,
    answer_of,
    copied,
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
from analysis.report.verdict.sample_size import rivals_of, rounded, times_more
from analysis.report.words import listed, people_words
from analysis.stats.comparison.replacement import FEWEST_OF_A_LABEL
from analysis.stats.core.shared_variance import (
    ANNOTATORS_PER_ANSWER,
    FEW_CLUSTERS,
    FEWEST_ANNOTATORS,
)

# Above this multiple of the present size, more data are not realistic advice.
MOST = 30
SETTLED = {"better", "worse", "equivalent"}
COMPARED = SETTLED | {"cannot_tell", "too_few"}


def settling_of(report: ReportJson) -> str:
    """What to do next: what is missing, or what would turn “not yet known” into an answer."""
    return unbroken(_settling(report))


def _settling(report: ReportJson) -> Text:
    state = report["headline"]["state"]
    if advice := _to_check(report):
        return advice
    if more := missing_answers(report):
        of = Population("answer", n=more)
        other = Words("the other " if report["human"]["answers"] else "")
        return say("Collect {other}{of}, then build the report again.", other=other, of=of)
    index = judge_of_answer(report)
    if index is not None:
        judge = report["judges"][index]
        if n := judge.get("excluded", {}).get("open"):
            return say(
                "Let {judge} judge the other {items}, then build the report again.",
                judge=Name(judge_name(report, index)),
                items=Population("item", n=n),
            )
        # Every item has a judgment, but not in each order or reading.
        if n := judge.get("judgments", {}).get("open"):
            return say(
                "Let {judge} make the other {judgments}, then build the report again.",
                judge=Name(judge_name(report, index)),
                judgments=Population("judgment", n=n),
            )
    match state:
        case "no_answers":
            return say("Collect answers from people and from at least one judge.")
        case "no_truth":
            return _without_truth(report)
        case "judges_only" if not report["human"]["answers"]:
            return say("Ask people about the same items.")
        case "judges_only":
            return say("Ask more people about each item, so that a majority decides.")
        case "people_only" if changing_with_order(report):
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
            "Add at least {more} that both decide, because {fewest} are needed.",
            more=Population("item", n=MIN_COMPARED - difference["n"]),
            fewest=_planned(MIN_COMPARED),
        )
        few = [few_kinds(report, difference)] if difference["too_few"] else []
        return sentences(at_least, *few)
    if difference["too_few"]:
        return few_kinds(report, difference)
    return _more_in_words(report, difference)


def _to_check(report: ReportJson) -> Text | None:
    """What to do first if a caution says that no comparison of these answers means anything."""
    cautions, index = report.get("cautions", {}), judge_of_answer(report)
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
    if has_run(report) and saw_answers(report, headline_run(report)):
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
                "Ask about items of which no answer is the usual right one: people are right less "
                "often than a constant answer."
            )
    return None


def _is_below(side: ReportJson, chance: float) -> bool:
    if side["n"] < MIN_COMPARED:
        return False
    ends = side["clusters"].get("ci_as_best") or side["clusters"]["ci"]
    return side["accuracy"] == 0 if ends is None else bool(ends[1] < chance)


def _opened(report: ReportJson) -> Text | None:
    """What to do if the comparison is decided, but the judge is not shown to be of use."""
    if report["headline"]["state"] not in {"better", "equivalent"} or not has_run(report):
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
    is_planned = plan and plan["before_data"] and not departs(report)
    if is_planned and not changes and not report["parameters"]["explored"]:
        return say("It is settled {scope}. {others} their own study.", **words)
    return say(
        "No more data are needed {scope}. Confirm it with a plan that is frozen before new data. "
        "{others} their own study.",
        **words,
    )


def few_kinds(report: ReportJson, basis: ReportJson) -> Text:
    """The kinds of clusters to increase."""
    cause = uneven(report, basis)
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
        gap = Quantity("size", of, difference["value"])
        matters: Text | Words = Words("A")
        if str(gap) != "0.0":
            form = "First ask whether a difference of {gap} points, as on {gap.some}, matters to "
            matters = clause(f"{form}you: a", gap=gap)
        return say(
            "More than {most} times as many items and people{size}, to show {shows}. {matters} "
            "margin wider than {margin} points needs fewer, but must be fixed before a new study.",
            most=_planned(MOST),
            size=size,
            shows=shows,
            matters=matters,
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


def missing_answers(report: ReportJson) -> int:
    recruiting = report["human"].get("recruiting", {"wanted": 0})
    return max(0, recruiting["wanted"] - report["human"]["answers"])


def changing_with_order(report: ReportJson) -> list[ReportJson]:
    """The judges that changed every choice with the order, so that none of their answers counts."""
    orders = [(judge, judge["position"]["both_orders"]) for judge in report["judges"]]
    return [judge for judge, both in orders if both["n"] and not both["consistent"]]


def judge_of_answer(report: ReportJson) -> int | None:
    """The position of the judge that the answer is about, if it is about one."""
    if replaced := replacement_of(report):
        return replaced.index
    return headline_run(report) if has_run(report) else None


def has_run(report: ReportJson) -> bool:
    return "run" in report["headline"]


def departs(report: ReportJson) -> bool:
    """Whether the answer is about something that the plan did not name, or not so."""
    if not has_run(report):
        return False
    path = ("comparison", headline_run(report), "difference_general", "value")
    return mark_of(report, path) == "explored"


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
