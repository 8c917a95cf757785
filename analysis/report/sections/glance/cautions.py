"""What would mislead readers if they did not know it, such as answers that may have been copied."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from analysis.data.arrays import CHOICES, MISSING, TIE
from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    Text,
    Words,
    clause,
    joined,
    say,
)
from analysis.report.report_json import Json
from analysis.report.rules import LEVEL, MIN_COMPARED
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.sentences import MAJORITY, SINGLE
from analysis.report.study import ReportedStudy
from analysis.report.words import people_words, run_names
from analysis.stats.agreement.copies import (
    UNLIKELY,
    answered_alike,
    fewest_with,
    follows_majority,
    same_throughout,
)
from analysis.stats.core.results import n_distinct

# A share of items that so few personas or questions have is named.
MOST_ITEMS, FEW_OF_ALL = 0.8, 0.25
FEWEST_CLUSTERS = 6
# Where other pairs agree more often, pairs without a difference are usual. Errors that all share.
USUAL, FEWEST_WRONG = 0.8, 5
# A side that is right on so small a share of its items or answers seems to name the other response.
EXCHANGED = 0.25
# With fewer repeated items, intervals are hardly too narrow.
MANY_REPEATED = 0.02
# So many verdicts that no response is better, where one is, decide what accuracy means.
MANY_TIES = 0.2
# Who has the known answers, where judges are named by their place.
KNOWN = "truth"
# If everybody is right at least this often, hardly any item shows a difference.
NEARLY_ALL = 0.95


@dataclass(frozen=True)
class Followed:
    """A judge, or the known answers, with the majority's answer to all `n` items that both have.

    Others fail to on some of the `split` items on which people disagree.
    """

    who: str
    n: int
    split: int
    items: int

    def text(self, names: Mapping[str, str]) -> Text:
        form, rule = "{judge} gives the answer of {people} to all {items}", "that both decided"
        also, made = ", also to the {split}", "its answers"
        if self.who == KNOWN:
            form, rule = "{people} is right on all {items}", "with a known answer"
            also, made = ", also on the {split}", "the known answers"
        also = f"{also} on which people disagree" if self.split else ""
        return say(
            f"{form}{also}. If {made} were made from theirs, comparing them says nothing.",
            judge=Name(names.get(self.who, "")),
            people=Words(names[MAJORITY]),
            items=Population("item", rule, self.n, self.items),
            split=Population("item", n=self.split),
        )


@dataclass(frozen=True)
class OthersAnswers:
    """How many answers other people gave, and how many of them are a judge's."""

    n: int
    same: int


@dataclass(frozen=True)
class Pasted:
    """People whose answers are all a judge's: how many of whom, and the fewest answers of one."""

    who: str
    people: int
    among: int
    answers: int
    fewest: int
    others: OthersAnswers

    def text(self, names: Mapping[str, str]) -> Text:
        others = Population("answer", n=self.others.n)
        return say(
            "{people} {verb} the same answer as {judge} every time ({own.n}), others in {same} of "
            "{same.of}. Their answers may be copies.",
            people=Population("person", n=self.people, among=self.among),
            verb=Words("gives" if self.people == 1 else "give"),
            judge=Name(names[self.who]),
            own=Population("answer", "of theirs", self.answers),
            same=Quantity("share", others, self.others.same / others.n),
        )


@dataclass(frozen=True)
class Alike:
    """People who gave the same answers to all items that they share, at least `fewest` for two.

    `others` is how often other pairs agree; None if there are none, and then `wrong` items show
    that the answers are not simply easy.
    """

    people: int
    among: int
    fewest: int
    others: float | None
    wrong: int

    def text(self) -> Text:
        rest: Text | Words = Words("")
        if self.others is not None:
            share = Quantity("rate", None, self.others)
            rest = clause(", while other pairs agree on {share}", share=share)
        elif self.wrong:
            rest = clause(
                ", also to {wrong} on which they are wrong",
                wrong=Population("item", n=self.wrong),
            )
        return say(
            "{people} give the same answers to all items that two of them share ({fewest} or "
            "more){rest}: find out whether they are one person, or copied.",
            people=Population("person", n=self.people, among=self.among),
            fewest=Quantity("count", None, self.fewest),
            rest=rest,
        )


@dataclass(frozen=True)
class Tied:
    """A side that gives a tie on `ties` of the `n` items where a response is right."""

    who: str
    n: int
    ties: int

    def text(self, names: Mapping[str, str], items: int) -> Text:
        of = Population("item", "where a response is right", self.n, items)
        return say(
            "{who} gave a tie on {x} of {x.full}, and it counts as wrong there.",
            who=Words(names[self.who]) if self.who == MAJORITY else Name(names[self.who]),
            x=Quantity("count", of, self.ties),
        )


@dataclass(frozen=True)
class Beaten:
    """A side that is right less often than the constant `answer` would be."""

    who: str
    n: int
    correct: int
    constant: int
    answer: str

    def share(self, count: int, report: ReportJson) -> Quantity:
        """A share of the side's items or answers that are right or wrong."""
        kind, among = "item", report["inputs"]["items"]
        if self.who == SINGLE:
            kind, among = "answer", report["human"]["answers"]
        return Quantity("share", Population(kind, "that are scored", self.n, among), count / self.n)


@dataclass(frozen=True)
class Easy:
    """Single answers or a run that, like all others, are right on nearly everything."""

    who: str
    n: int
    correct: int


@dataclass(frozen=True)
class Uneven:
    """Kinds of clusters of which the `largest` have `items` of `n` items."""

    of: str
    among: int
    largest: int
    items: int
    n: int

    def text(self) -> Text:
        return say(
            "{largest} {largest.has} {share} of {share.of}: results are mostly about them.",
            largest=Population(self.of, n=self.largest, among=self.among),
            share=Quantity("share", Population("item", n=self.n), self.items / self.n),
        )


def cautions(study: ReportedStudy) -> Json:
    """The entry of report.json: only what holds for the study."""
    followed = list(_followed(study))
    named = {one.who for one in followed}
    kinds: Mapping[str, Iterable[Followed | Pasted | Alike | Easy | Tied | Beaten | Uneven]] = {
        "followed": followed,
        "known": _known(study),
        "pasted": [one for one in _pasted(study) if one.who not in named],
        "alike": _alike(study),
        "easy": _easy(study),
        "tied": _tied(study),
        "constant": _beaten(study),
        "uneven": _uneven(study),
    }
    entries: Json = {kind: dicts for kind, of in kinds.items() if (dicts := [*map(asdict, of)])}
    present = {item.key for item in study.data.items}
    repeated = sum({key, first} <= present for key, first in study.data.repeats.items())
    if repeated > MANY_REPEATED * len(present):
        entries["repeated"] = repeated
    return entries


def _followed(study: ReportedStudy) -> Iterator[Followed]:
    counts, people = study.votes.counts(), study.people
    for place in study.whole_runs:
        answer = study.judges[place].answer
        result = follows_majority(counts, people.answer, np.where(answer < 2, answer, MISSING))
        by_chance = LEVEL / len(study.whole_runs)
        if result.n >= MIN_COMPARED and result.is_same and (result.p or 0.0) <= by_chance:
            yield Followed(f"judges.{place}", result.n, result.split, len(study.data.items))


def _known(study: ReportedStudy) -> Iterator[Followed]:
    """The known answers, if people are right on all items although they disagree."""
    truth = np.where(study.truth < 2, study.truth, MISSING)
    result = follows_majority(study.votes.counts(), study.people.answer, truth)
    if result.n >= MIN_COMPARED and result.is_same and (result.p or 0.0) <= LEVEL:
        yield Followed(KNOWN, result.n, result.split, len(study.data.items))


def _pasted(study: ReportedStudy) -> Iterator[Pasted]:
    votes = study.votes
    for place in study.whole_runs:
        own = study.judges[place].answer[votes.item]
        both = own >= 0
        n, same = (
            np.bincount(votes.annotator[rows], minlength=votes.n_annotators)
            for rows in (both, both & (own == votes.choice))
        )
        result = same_throughout(n, same, tests=len(study.whole_runs))
        if result.p is not None and result.p <= LEVEL:
            yield Pasted(
                f"judges.{place}",
                int(result.people.size),
                int((n > 0).sum()),
                result.items,
                result.fewest,
                OthersAnswers(result.others_items, result.others_same),
            )


def _alike(study: ReportedStudy) -> Iterator[Alike]:
    votes = study.votes
    result = answered_alike(votes.item, votes.annotator, votes.choice)
    if not result.people.size:
        return
    among, people = n_distinct(votes.annotator), study.people.correct
    wrong = int((people == 0).sum())
    if result.others is None:
        # Nobody differs from anybody, so that only errors that all share are telling.
        is_odd = result.people.size == among and wrong >= FEWEST_WRONG
    else:
        is_odd = result.p is not None and result.p <= UNLIKELY and result.others <= USUAL
    if is_odd:
        yield Alike(int(result.people.size), among, result.fewest, result.others, wrong)


def _easy(study: ReportedStudy) -> list[Easy]:
    """Single answers and all runs, if each of them is right on nearly everything."""
    sides = [(SINGLE, study.correct_alone)]
    sides += [(f"judges.{n}", study.judges[n].correct) for n in study.whole_runs]
    easy = [
        Easy(who, int((correct >= 0).sum()), int((correct == 1).sum())) for who, correct in sides
    ]
    is_easy = all(one.n >= MIN_COMPARED and one.correct >= NEARLY_ALL * one.n for one in easy)
    return easy if is_easy and len(easy) > 1 else []


def _tied(study: ReportedStudy) -> Iterator[Tied]:
    """Sides that often say that no response is better, where one of them is right."""
    sides = [(MAJORITY, study.people)]
    sides += [(f"judges.{n}", study.judges[n]) for n in study.whole_runs]
    for who, verdicts in sides:
        scored = (verdicts.correct >= 0) & np.isin(study.data.truth, (0, 1))
        n, ties = int(scored.sum()), int((scored & (verdicts.answer == TIE)).sum())
        if ties and ties >= MANY_TIES * n:
            yield Tied(who, n, ties)


def _beaten(study: ReportedStudy) -> list[Beaten]:
    """Sides that are right less often than the same answer to every item would be."""
    truth = study.truth
    known = truth[truth >= 0]
    if not known.size:
        return []
    always = int(np.bincount(known).argmax())
    items = np.arange(truth.size)
    sides = [(MAJORITY, study.people.correct, items)]
    sides.append((SINGLE, study.correct_alone, study.votes.item))
    sides += [(f"judges.{n}", study.judges[n].correct, items) for n in study.whole_runs]
    beaten = []
    for who, correct, item in sides:
        scored = correct >= 0
        n, own = int(scored.sum()), int((correct == 1).sum())
        same = int((truth[item] == always)[scored].sum())
        if n >= MIN_COMPARED and own < same:
            beaten.append(Beaten(who, n, own, same, CHOICES[always]))
    is_many = any(side.who == MAJORITY for side in beaten)
    return [side for side in beaten if side.who != SINGLE or not is_many]


def _uneven(study: ReportedStudy) -> Iterator[Uneven]:
    for kind, codes in (("persona", study.shared.persona), ("question", study.shared.question)):
        sizes = np.bincount(codes)
        sizes = sizes[sizes > 0]
        if sizes.size >= FEWEST_CLUSTERS:
            largest, items = fewest_with(MOST_ITEMS, sizes.tolist())
            if largest <= FEW_OF_ALL * sizes.size:
                yield Uneven(kind, int(sizes.size), largest, items, int(codes.size))


ALWAYS = {"r1": "Always response 1", "r2": "Always response 2", "tie": "Always a tie"}


def caution_texts(report: ReportJson) -> Iterator[tuple[str, Text]]:
    """The sentences, the most important first, each with its code."""
    entries: Mapping[str, Any] = report.get("cautions", {})
    names = {f"judges.{place}": name for place, name in enumerate(run_names(report))}
    names[MAJORITY] = people_words(report)
    names[SINGLE] = "one person’s answer"
    for entry in entries.get("followed", ()):
        yield "followed", Followed(**entry).text(names)
    for entry in entries.get("known", ()):
        yield "known", Followed(**entry).text(names)
    for entry in entries.get("pasted", ()):
        others = OthersAnswers(**entry["others"])
        yield "pasted", Pasted(**entry | {"others": others}).text(names)
    for entry in entries.get("alike", ()):
        yield "alike", Alike(**entry).text()
    if easy := [Easy(**entry) for entry in entries.get("easy", ())]:
        yield "easy", _easy_text(names, easy, report["inputs"]["items"])
    for entry in entries.get("tied", ()):
        yield "tied", Tied(**entry).text(names, report["inputs"]["items"])
    beaten = [Beaten(**entry) for entry in entries.get("constant", ())]
    tied = {entry["who"] for entry in entries.get("tied", ())}
    yield from (("constant", text) for text in _constant_texts(report, names, beaten, tied))
    if n := entries.get("repeated"):
        items = Population("item", n=n, among=report["inputs"]["items"])
        yield (
            "repeated",
            say(
                "{items} {items.has} the persona, the question and the responses of another one, "
                "so the items say less than their number.",
                items=items,
            ),
        )
    for entry in entries.get("uneven", ()):
        yield "uneven", Uneven(**entry).text()


def _easy_text(names: Mapping[str, str], easy: Sequence[Easy], items: int) -> Text:
    people, *judges = (
        Quantity(
            "share",
            Population("answer", n=one.n)
            if one.who == SINGLE
            else Population("item", "that it decided", one.n, items),
            one.correct / one.n,
        )
        for one in easy
    )
    parts = [
        clause("{who} on {x} of {x.of}", who=Name(names[one.who]), x=share)
        for one, share in zip(easy[1:], judges, strict=True)
    ]
    return say(
        "Items this easy tell nobody apart: people are right in {x} of {x.of}, {judges}. On harder "
        "items, judges and people may differ.",
        x=people,
        judges=joined(parts),
    )


def _constant_texts(
    report: ReportJson, names: Mapping[str, str], beaten: Sequence[Beaten], tied: Collection[str]
) -> Iterator[Text]:
    """One sentence for all sides of which a constant answer would be as often right.

    Those in `tied` err because they give ties, not because responses are exchanged.
    """
    alike: dict[tuple[bool, int, int], list[Beaten]] = {}
    for side in beaten:
        alike.setdefault((side.who == SINGLE, side.n, side.constant), []).append(side)
    for same in alike.values():
        parts = [
            clause(
                "{who} on {x}{exchanged}",
                who=Name(names[side.who]),
                x=side.share(side.correct, report),
                exchanged=Words(
                    " (as if responses were exchanged)"
                    if side.correct <= EXCHANGED * side.n and side.who not in tied
                    else ""
                ),
            )
            for side in same
        ]
        yield say(
            "{always} would be right on {x} of {x.of}, {sides}.",
            always=Name(ALWAYS[same[0].answer]),
            x=same[0].share(same[0].constant, report),
            sides=joined(parts),
        )


class Cautions(Section):
    """What would mislead if it were not said; nothing in most studies."""

    name = "cautions"

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        entries = cautions(study)
        return {"cautions": entries} if entries else {}

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for code, text in caution_texts(report):
            yield Sentence("limit", text, code)
