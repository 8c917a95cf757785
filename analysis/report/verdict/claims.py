"""The table of the first chapter: claims that hold after correction, and questions that stay open.

The questions are about the judge whom the reader asks about, the one of the headline.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    Slot,
    Text,
    Words,
    bare,
    capitalised,
    clause,
    say,
)
from analysis.report.rater_tests import RaterTest, rater_tests
from analysis.report.report_json import ReportJson
from analysis.report.results import NOTHING, AgainstPeople, Finding, scope_of
from analysis.report.sections.certainty.section import WhereCertain
from analysis.report.sections.groups.section import group_tests, part_tests
from analysis.report.sections.position import is_even
from analysis.report.sentences import (
    CALIBRATION,
    CERTAIN,
    GROUPS,
    LANGUAGES,
    LENGTH,
    MAJORITY,
    RANKING,
    SIDES,
    SINGLE,
    TOGETHER,
    TOPICS,
    single_words,
)
from analysis.report.study import competitors, standing
from analysis.report.tables import Table, TableColumn
from analysis.report.verdict.answer import (
    ANSWERS,
    NO,
    UNKNOWN,
    answer_of,
    headline_run,
    judge_name,
    replacement_of,
)
from analysis.report.words import listed, people_words, run_names, whole_runs

MOST_CLAIMS = 10


@dataclass(frozen=True)
class ReportClaim:
    """What a test was about: `claim` if it holds, else `question`; `who` is the judge or people.

    `value` has the number, its interval and what it is about, unless `of` names something else.
    """

    who: str
    claim: Text
    question: Text
    value: Quantity | None
    is_held: bool
    of: Population | Words = NOTHING

    def row(self) -> list[Any]:
        about = self.of if self.value is None else self.value.of
        words = clause("Open: {question}", question=self.question)
        words = self.claim if self.is_held else words
        return [str(capitalised(words)), self.value, self.value, str(about)]


def what_was_found(report: ReportJson) -> Table:
    asked, main, tested = _judge_asked_about(report), list(_main(report)), list(_tested(report))
    # The answers of the first screen, then the judge asked about, people, and other judges.
    order = {asked: 0, MAJORITY: 1, SINGLE: 1}
    tested.sort(key=lambda one: order.get(one.who, 2))
    held = [one for one in (*main, *tested) if one.is_held]
    questions = [one for one in (*main, *tested) if not one.is_held and one.who == asked]
    # The answer of the first screen is the first row, whether it holds or is open.
    first, rest = main[:1], [one for one in questions if one not in main[:1]]
    claims = [*(one for one in first if not one.is_held), *held[:MOST_CLAIMS], *rest]
    rows = [one.row() for one in claims]
    columns = (
        TableColumn("Claim"),
        TableColumn("Number", "measure"),
        TableColumn("95 % interval", "measure_range"),
        TableColumn("n"),
    )
    more: Text | Words = NOTHING
    if len(held) > MOST_CLAIMS:
        left = Quantity("count", None, len(held) - MOST_CLAIMS)
        more = clause(" The chapters have {left} more that hold.", left=left)
    note = say(
        "Claims hold after correction for all tests of their kind and for all kinds (“Limits” "
        "counts them). The comparison with people has its own level.{scope}{more}",
        scope=_scope(report),
        more=more,
    )
    return Table(
        "what_was_found",
        "Claims that hold, and questions that stay open",
        columns,
        rows,
        note,
        is_record=True,
    )


def _scope(report: ReportJson) -> Words:
    """For whom the first number and its interval are."""
    replaced = replacement_of(report)
    if replaced is None and report["headline"]["state"] not in {*ANSWERS, "cannot_tell"}:
        return NOTHING
    about = replaced.found if replaced else {}
    if replaced is None:
        about = report["comparison"][headline_run(report)]["difference_general"]
    if about["ci"] is None:
        return NOTHING
    kinds, only = scope_of(report, about)
    fixed = f" and its only {listed(only)}" if only else ""
    return Words(f" It is for {listed(['items', *kinds])} like those of this study{fixed}.")


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
        yield ReportClaim(
            f"judges.{replaced.index}",
            clause(
                "{judge} agrees with people {less} another person does, with ε = {margin} points",
                judge=Name(replaced.name),
                less=Words("less often than" if word == NO else "at least as often as"),
                margin=Quantity("margin", None, replaced.epsilon),
            ),
            clause(
                "does {judge} agree with people at least as often as another person does?",
                judge=Name(replaced.name),
            ),
            replaced.gap,
            word != UNKNOWN,
        )
    if "run" not in report["headline"] or report["headline"]["state"] == "judges_only":
        return
    best, people = headline_run(report), people_words(report)
    for index in sorted(competitors(report["judges"]), key=lambda index: index != best):
        judge = judge_name(report, index)
        state = standing(report["comparison"][index]["difference_general"])
        compared = AgainstPeople.of_run(report, index, state=state, judge=judge, people=people)
        if compared.result is None:
            continue
        sides: dict[str, Slot] = {"judge": compared.judge, "people": compared.people}
        yield ReportClaim(
            f"judges.{index}",
            clause(f"{{judge}} was right {_COMPARED.get(state, '')} {{people}}", **sides),
            clause("is {judge} right as often as {people}?", **sides),
            compared.result.value,
            state in _COMPARED and (index != best or word != UNKNOWN),
        )


_COMPARED = {"better": "more often than", "worse": "less often than", "equivalent": "as often as"}


def _tested(report: ReportJson) -> Iterator[ReportClaim]:
    """The claims of every kind with an entry for each judge and for people."""
    for kind, forms in _FORMS.items():
        for test in rater_tests(report, kind):
            if not (kind == SIDES and is_even(test.result)):
                yield forms.claim(test, single_words(report))
    yield from _certain(report)
    for part in part_tests(report):
        yield ReportClaim(part.who, part.claim(), Text(()), part.result.value, is_held=True)
    # Groups of personas on which a side errs are claims, never questions.
    for group in group_tests(report):
        yield ReportClaim(
            f"judges.{group.judge}", group.claim(), Text(()), group.result.value, is_held=True
        )
    yield from _of_other_kinds(report)


@dataclass(frozen=True)
class _Forms:
    """The words of a kind of claims: if it holds above 0, below 0, and as an open question.

    Verbs of the name are slots of their form for one: “{leans}”. “{people}” are those who answered.
    """

    above: str
    below: str
    question: str
    verbs: tuple[str, ...] = ()

    def claim(self, test: RaterTest, people: str) -> ReportClaim:
        slots: dict[str, Slot] = {verb: test.verb(verb) for verb in self.verbs}
        slots |= {"name": test.name, "people": Words(people)}
        finding = test.result.finding
        return ReportClaim(
            test.who,
            clause(self.below if finding is Finding.BELOW else self.above, **slots),
            clause(self.question, **slots),
            test.result.value,
            finding is not Finding.OPEN,
        )


_FORMS: Mapping[str, _Forms] = {
    SIDES: _Forms(
        "{name} {leans} to side A",
        "{name} {leans} to side B",
        "{does} {name} lean to a side?",
        ("leans", "does"),
    ),
    LENGTH: _Forms(
        "{name} errs more often where the shorter response is right",
        "{name} errs more often where the longer response is right",
        "does {name} lean to the longer response?",
    ),
    CALIBRATION: _Forms(
        "The certainty of {name} is higher than the share of right answers",
        "The certainty of {name} is lower than the share of right answers",
        "is the certainty of {name} higher or lower than the share of right answers?",
    ),
    RANKING: _Forms(
        "{name} {is} right more often at high certainty",
        "{name} {is} right less often at high certainty",
        "{is} {name} right more often at high certainty?",
        ("is",),
    ),
    TOGETHER: _Forms(
        "The certainty of {name} rises with that of {people}",
        "The certainty of {name} falls with that of {people}",
        "does the certainty of {name} rise with that of {people}?",
    ),
}


def _certain(report: ReportJson) -> Iterator[ReportClaim]:
    names = run_names(report)
    for index in whole_runs(report):
        name = Name(names[index])
        result = WhereCertain.of_run(report, index, name).result
        if result is None or result.p is None:
            continue
        often = "less" if result.finding is Finding.BELOW else "more"
        own = f"often on its items of high certainty than {single_words(report)} on theirs"
        yield ReportClaim(
            f"judges.{index}",
            clause(f"{{name}} is right {often} {own}", name=name),
            clause(f"is {{name}} right more {own}?", name=name),
            result.value,
            result.finding is not Finding.OPEN,
        )


def _of_other_kinds(report: ReportJson) -> Iterator[ReportClaim]:
    """Kinds whose claims have no rows of their own, such as those of extras: how many hold."""
    for entry in report.get("claims_tested", {"kinds": ()})["kinds"]:
        if entry["hold"] and entry["kind"] not in {*_FORMS, CERTAIN, GROUPS, LANGUAGES, TOPICS}:
            tested = Population("claim", "tested", entry["tested"])
            held = clause(
                "{kind}: {hold} of {hold.n} {verb}",
                verb=Words("holds" if entry["hold"] == 1 else "hold"),
                kind=bare(entry["kind"]),
                hold=Quantity("count", tested, entry["hold"]),
            )
            yield ReportClaim("", held, Text(()), None, True, Words("see its chapter"))
