"""The first screen of a report: the answer, a chart, up to four caveats, and what to do next.

It is computed from report.json when a page is rendered, so a report's numbers never change.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

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
    unbroken,
)
from analysis.report.report_json import ReportJson
from analysis.report.results import (
    clusters_of,
    decided_by_judge,
    excluded_people,
    is_lopsided,
    items,
    unplanned,
)
from analysis.report.rules import CHAPTERS
from analysis.report.section import on_in
from analysis.report.sections.glance.cautions import caution_texts
from analysis.report.sections.position import length_texts
from analysis.report.sentences import order_words
from analysis.report.study import tied_with
from analysis.report.verdict.answer import (
    COPIED,
    MADE,
    SEEN,
    VerdictAnswer,
    answer_of,
    counted_people,
    effective_people,
    headline_run,
    judge_name,
    replacement_of,
    saw_answers,
)
from analysis.report.verdict.chart import VerdictChart, chart_of
from analysis.report.verdict.next_step import (
    changing_with_order,
    departs,
    has_run,
    judge_of_answer,
    missing_answers,
    rests_on,
    sensitivity_of,
    settling_of,
)
from analysis.report.words import (
    INDIVIDUALS,
    MAJORITY_WORDS,
    STEREOTYPES,
    listed,
    people_words,
    run_name,
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
    if not missing_answers(report):
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


def tie_notes(report: ReportJson) -> Iterator[Text]:
    """The judges that tie for the first place, of which the answer is about the first."""
    judges = report["judges"]
    if not has_run(report):
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
        for judge in changing_with_order(report):
            yield from order_words(run_name(judge, report["judges"]), judge)


SHOWN_CAVEATS = 3
# A judge that refused at least this share of its items, or gave no readable reply, is named.
MANY_REFUSED = 0.2
# Why an item has no answer, what the judge did, and how all items are named after it.
SILENT = (
    ("refused", "refused", "all"),
    ("unparseable", "gave no readable reply to", "any of"),
)
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
    cautions, own = report["cautions"], f"judges.{judge_of_answer(report)}"
    others = {
        kind: [entry for entry in cautions.get(kind, ()) if entry["who"] != own]
        for kind in ("followed", "pasted")
    }
    return {**report, "cautions": cautions | others}


def _chosen_late(report: ReportJson) -> Text | None:
    registration = report["registration"]
    chosen = {change["setting"] for change in registration["late_changes"]}
    if report["parameters"]["explored"]:
        chosen.add("threshold")
    if chosen:
        which = f"The {listed(sorted(chosen, reverse=True))}"
        verb = Words("was" if len(chosen) == 1 else "were")
        return say("{which} {verb} chosen after the data.", which=Words(which), verb=verb)
    plan = registration["plan"]
    if not plan:
        return unplanned(report)
    if not plan["before_data"]:
        return say("The analysis plan was frozen after the first data.")
    return say("This comparison departs from the analysis plan.") if departs(report) else None


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


def _of_chapters(report: ReportJson) -> Text | None:
    """The caveat of an extra's chapter."""
    failed = report.get("failed_parts", ())
    chapters = (chapter for chapter in CHAPTERS.where(on_in(report)) if chapter.name not in failed)
    words = next(filter(None, (chapter.caveat(report) for chapter in chapters)), "")
    return bare(words) if words else None


def _refusing(report: ReportJson) -> Text | None:
    """The judges that refused many items, or whose replies to many could not be read."""
    judges = report["judges"]
    parts, answering, named = [], False, set()
    for place, judge in enumerate(judges):
        asked = judge["items"]
        for state, verb, every in SILENT:
            n = judge["excluded"][state]
            if n < MANY_REFUSED * max(1, asked):
                continue
            answering |= sum(judge["excluded"][one] for one, *_ in SILENT) < asked
            named.add(place)
            form = (
                f"{{judge}} {verb} {every} {{n.of}}"
                if n == asked
                else f"{{judge}} {verb} {{n}} of {{n.of}}"
            )
            of = items(report, "that it was asked", asked)
            judge_name = Name(run_name(judge, judges))
            parts.append(clause(form, judge=judge_name, n=Quantity("count", of, n)))
    if not parts:
        return None
    rest = "; its accuracy is about the others" if answering else ""
    if rest and len(named) > 1:
        rest = "; accuracy is about the others"
    return say("{parts}{rest}.", parts=joined(parts), rest=Words(rest))


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
    answered = judge_of_answer(report) if SEEN in answer_of(report).sentence else None
    others = (n for n in range(len(report["judges"])) if n != answered)
    text = next(filter(None, (saw_answers(report, n) for n in others)), None)
    return say("{text}.", text=text) if text else None


def _less_of_persona(report: ReportJson) -> Text | None:
    """The judge of the answer, if it saw less of the persona than people did."""
    index = judge_of_answer(report)
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
    return say(INDIVIDUALS)


def _stereotypes(report: ReportJson) -> Text | None:
    if not report["inputs"]["personas"]:
        return None
    return say(STEREOTYPES)


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
