"""The table of the first chapter: claims that hold after correction, and questions that stay open.

The questions are about the judge whom the reader asks about, the one of the headline.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.report.quantities import Population
from analysis.report.report_json import ReportJson
from analysis.report.results import people_words
from analysis.report.sentences import (
    CALIBRATION,
    CERTAIN,
    GROUPS,
    LENGTH,
    MAJORITY,
    RANKING,
    SIDES,
    SINGLE,
    TOGETHER,
    holds,
    level_of,
    members,
    sentence_case,
)
from analysis.report.study import competitors, standing
from analysis.report.tables import Table, TableColumn, interval_of, measured
from analysis.report.verdict.answer import (
    ANSWERS,
    NO,
    UNKNOWN,
    answer_of,
    headline_run,
    judge_name,
    replacement_of,
)
from analysis.report.words import listed, number_of, run_names, whole_runs

MOST_CLAIMS = 10


@dataclass(frozen=True)
class ReportClaim:
    """What a test was about: `claim` if it holds, else `question`; `who` is the judge or people."""

    who: str
    claim: str
    question: str
    value: float | None
    ends: Sequence[float] | None
    of: Population | str
    is_held: bool
    unit: str = "points"


def what_was_found(report: ReportJson) -> Table:
    asked, main, tested = _judge_asked_about(report), list(_main(report)), list(_tested(report))
    # The answers of the first screen, then the judge asked about, people, and other judges.
    order = {asked: 0, MAJORITY: 1, SINGLE: 1}
    tested.sort(key=lambda one: order.get(one.who, 2))
    held = [one for one in (*main, *tested) if one.is_held]
    questions = [one for one in (*main, *tested) if not one.is_held and one.who == asked]
    rows = [_row(one.claim, one) for one in held[:MOST_CLAIMS]]
    rows += [_row(f"Open: {one.question}", one) for one in questions]
    columns = (
        TableColumn("Claim"),
        TableColumn("Number", "measure"),
        TableColumn("95 % interval", "measure_range"),
        TableColumn("n"),
    )
    note = (
        "Claims hold after correction for all tests of their kind and for all kinds (“Limits” "
        "counts them). “–”: too few answers of a kind for an interval. The comparison with people "
        "has its own level."
    )
    note += _scope(report)
    if len(held) > MOST_CLAIMS:
        note += f" The chapters have {len(held) - MOST_CLAIMS} more that hold."
    return Table(
        "what_was_found",
        "Claims that hold, and questions that stay open",
        columns,
        rows,
        note,
        is_record=True,
    )


def _scope(report: ReportJson) -> str:
    """For whom the first number and its interval are."""
    replaced = replacement_of(report)
    if replaced is None and report["headline"]["state"] not in {*ANSWERS, "cannot_tell"}:
        return ""
    about = replaced.found if replaced else {}
    if replaced is None:
        about = report["comparison"][headline_run(report)]["difference_general"]
    kinds = [kind for kind in ("people", "personas", "questions") if kind not in about["one"]]
    only = [kind.removesuffix("s") for kind in about["one"]]
    fixed = f" and its only {listed(only)}" if only else ""
    return f" It is for {listed(['items', *kinds])} like those of this study{fixed}."


def _row(words: str, one: ReportClaim) -> list[Any]:
    return [words, *measured(one.value, one.ends, one.unit), str(one.of)]


def _judge_asked_about(report: ReportJson) -> str:
    """The judge of the headline, as “judges.0”; people if there is no judge."""
    if "run" in report["headline"]:
        return f"judges.{headline_run(report)}"
    replaced = replacement_of(report)
    return SINGLE if replaced is None else f"judges.{replaced.index}"


def _main(report: ReportJson) -> Iterator[ReportClaim]:
    """The answer of the first screen, and the same test of the other judges that compete."""
    word = answer_of(report).word
    if replaced := replacement_of(report):
        test, name = replaced.found, replaced.name
        ends = test["ci"] and [-end for end in reversed(test["ci"])]
        less = "less often than" if word == NO else "as often as"
        yield ReportClaim(
            f"judges.{replaced.index}",
            f"{name} agrees with people {less} another person does, with ε = "
            f"{replaced.epsilon * 100:g} points",
            f"does {name} agree with people as often as another person does?",
            -replaced.advantage,
            ends,
            Population("item", n=test["n"]),
            word != UNKNOWN,
        )
    if "run" not in report["headline"] or report["headline"]["state"] == "judges_only":
        return
    best, people = headline_run(report), people_words(report)
    for index in sorted(competitors(report["judges"]), key=lambda index: index != best):
        difference = report["comparison"][index]["difference_general"]
        if difference["value"] is None:
            continue
        name, state = judge_name(report, index), standing(difference)
        rule = "that both decided"
        if "asked_of_all" in difference:
            rule = "that every competing judge was asked and both decided"
        is_held = state in _COMPARED and (index != best or word != UNKNOWN)
        yield ReportClaim(
            f"judges.{index}",
            f"{name} was right {_COMPARED.get(state, '')} {people}",
            f"is {name} right as often as {people}?",
            difference["value"],
            interval_of(difference),
            Population("item", rule, difference["n"], report["inputs"]["items"]),
            is_held,
        )


_COMPARED = {"better": "more often than", "worse": "less often than", "equivalent": "as often as"}


def _tested(report: ReportJson) -> Iterator[ReportClaim]:
    """The claims of every kind with an entry for each judge and for people."""
    for kind, wording in _KINDS.items():
        level = level_of(report, kind)
        for name, test in members(report, kind):
            # The certainty of the majority is a mean over people, who have their own test.
            if test["p_max"] is None or (test["who"] == MAJORITY and kind != LENGTH):
                continue
            yield wording(report, name, test, holds(test, level))
    yield from _certain(report)
    yield from _groups(report)
    yield from _of_other_kinds(report)


def _sides(report: ReportJson, name: str, test: ReportJson, is_held: bool) -> ReportClaim:
    side = "A" if test["t"] > 0 else "B"
    leans = "leans" if _is_one(test["who"]) else "lean"
    return ReportClaim(
        test["who"],
        f"{sentence_case(name)} {leans} to side {side}",
        f"{'does' if _is_one(test['who']) else 'do'} {name} lean to a side?",
        test["value"],
        test["ci"],
        Population("answer", n=test["n"]),
        is_held,
    )


def _lengths(report: ReportJson, name: str, test: ReportJson, is_held: bool) -> ReportClaim:
    which = "shorter" if test["t"] > 0 else "longer"
    return ReportClaim(
        test["who"],
        f"{sentence_case(name)} errs more often where the {which} response is right",
        f"does {name} lean to the longer response?",
        test["value"],
        test["ci"],
        Population("item", n=test["n"]),
        is_held,
    )


def _calibrated(report: ReportJson, name: str, test: ReportJson, is_held: bool) -> ReportClaim:
    which = "higher" if test["t"] > 0 else "lower"
    return ReportClaim(
        test["who"],
        f"The certainty of {name} is {which} than the share of right answers",
        f"is the certainty of {name} higher or lower than the share of right answers?",
        test["value"],
        test["ci"],
        _scored(test),
        is_held,
    )


def _ranked(report: ReportJson, name: str, test: ReportJson, is_held: bool) -> ReportClaim:
    which = "more" if test["t"] > 0 else "less"
    return ReportClaim(
        test["who"],
        f"{sentence_case(name)} {_is(test['who'])} right {which} often at high certainty",
        f"{_is(test['who'])} {name} right more often at high certainty?",
        test["value"],
        test["ci"],
        _scored(test),
        is_held,
    )


def _together(report: ReportJson, name: str, test: ReportJson, is_held: bool) -> ReportClaim:
    index = int(test["who"].removeprefix("judges."))
    certainty = report["comparison"][index]["certainty"]
    which = "rises" if test["t"] > 0 else "falls"
    return ReportClaim(
        test["who"],
        f"The certainty of {name} {which} with that of people",
        f"does the certainty of {name} rise with that of people?",
        certainty["spearman"],
        certainty["spearman_general_ci"],
        Population("item", n=certainty["items"]),
        is_held,
        unit="correlation",
    )


_KINDS: Mapping[str, Callable[[ReportJson, str, ReportJson, bool], ReportClaim]] = {
    SIDES: _sides,
    LENGTH: _lengths,
    CALIBRATION: _calibrated,
    RANKING: _ranked,
    TOGETHER: _together,
}


def _certain(report: ReportJson) -> Iterator[ReportClaim]:
    names, level = run_names(report), level_of(report, CERTAIN)
    for index in whole_runs(report):
        sets = report["comparison"][index]["certainty"]["high_sets"]
        difference = sets["difference_general"]
        if difference["value"] is None or difference["p_holm"] is None:
            continue
        often = "more" if difference["value"] > 0 else "less"
        own = "often on its items of high certainty than people on theirs"
        yield ReportClaim(
            f"judges.{index}",
            f"{names[index]} is right {often} {own}",
            f"is {names[index]} right more {own}?",
            difference["value"],
            interval_of(difference),
            Population("item", n=sets["n"]),
            holds(difference, level, "p_holm"),
        )


def _groups(report: ReportJson) -> Iterator[ReportClaim]:
    """Groups of personas on which a side errs; they are claims, never questions."""
    names, level = run_names(report), level_of(report, GROUPS)
    of_judges = report.get("group_errors", {}).get("judges")
    for index in whole_runs(report) if of_judges else ():
        for entry in of_judges[index]:
            difference = entry["difference"]
            if holds(difference, level):
                often = "more" if difference["value"] > 0 else "less"
                group = f"{entry['label']} {entry['value']}"
                yield ReportClaim(
                    f"judges.{index}",
                    f"{names[index]} errs {often} often on personas with {group} than on others",
                    "",
                    difference["value"],
                    difference["ci"],
                    Population("item", n=entry["n"]),
                    is_held=True,
                )


def _of_other_kinds(report: ReportJson) -> Iterator[ReportClaim]:
    """Kinds whose claims have no rows of their own, such as those of extras: how many hold."""
    for entry in report.get("claims_tested", {"kinds": ()})["kinds"]:
        if entry["hold"] and entry["kind"] not in {*_KINDS, CERTAIN, GROUPS}:
            kind = entry["kind"][:1].upper() + entry["kind"][1:]
            words = f"{kind}: {entry['hold']:,} of {number_of(entry['tested'], 'claim')} hold"
            yield ReportClaim("", words, "", None, None, "see its chapter", is_held=True)


def _scored(test: ReportJson) -> Population:
    return Population("answer" if test["who"] == SINGLE else "item", n=test["n"])


def _is_one(who: str) -> bool:
    return who != SINGLE


def _is(who: str) -> str:
    return "is" if _is_one(who) else "are"
