"""What would mislead readers if they did not know it, such as answers that may have been copied."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from analysis.data.arrays import CHOICES, MISSING, TIE
from analysis.data.verdicts import Ints
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
from analysis.report.words import run_names
from analysis.stats.agreement.copies import fewest_with, follows_majority, same_throughout

# A share of items that so few personas or questions have is named.
MOST_ITEMS, FEW_OF_ALL = 0.8, 0.25
FEWEST_CLUSTERS = 6
# With fewer repeated items, intervals are hardly too narrow.
MANY_REPEATED = 0.02
# So many verdicts that no response is better, where one is, decide what accuracy means.
MANY_TIES = 0.2


def cautions(study: ReportedStudy) -> Json:
    """The entry of report.json: only what holds for the study."""
    followed = _followed(study)
    named = {entry["who"] for entry in followed}
    entries: Json = {
        "followed": followed,
        "pasted": [entry for entry in _pasted(study) if entry["who"] not in named],
        "tied": list(_tied(study)),
        "constant": _constant(study),
        "uneven": _uneven(study),
    }
    present = {item.key for item in study.data.items}
    repeated = sum({key, first} <= present for key, first in study.data.repeats.items())
    if repeated > MANY_REPEATED * len(present):
        entries["repeated"] = repeated
    return {key: value for key, value in entries.items() if value}


def _followed(study: ReportedStudy) -> list[Json]:
    """Judges that give the majority's answer to every item, although some always fail to."""
    out, people = [], study.people
    counts = study.votes.counts()
    for place in study.whole_runs:
        answer = study.judges[place].answer
        result = follows_majority(counts, people.answer, np.where(answer < 2, answer, MISSING))
        by_chance = LEVEL / len(study.whole_runs)
        if result.n >= MIN_COMPARED and result.is_same and (result.p or 0.0) <= by_chance:
            entry: Json = {"who": f"judges.{place}", "n": result.n, "split": result.split}
            out.append(entry | {"items": len(study.data.items)})
    return out


def _pasted(study: ReportedStudy) -> Iterator[Json]:
    """People whose answers are all a judge's."""
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
            yield {
                "who": f"judges.{place}",
                "people": int(result.people.size),
                "among": int((n > 0).sum()),
                "answers": result.items,
                "fewest": result.fewest,
                "others": {"n": result.others_items, "same": result.others_same},
            }


def _tied(study: ReportedStudy) -> Iterator[Json]:
    """Sides that often say that no response is better, where one of them is right."""
    sides = [
        (MAJORITY, study.people),
        *((f"judges.{n}", study.judges[n]) for n in study.whole_runs),
    ]
    for who, verdicts in sides:
        scored = (verdicts.correct >= 0) & (study.truth != TIE)
        n, ties = int(scored.sum()), int((scored & (verdicts.answer == TIE)).sum())
        if ties and ties >= MANY_TIES * n:
            yield {"who": who, "n": n, "ties": ties}


def _constant(study: ReportedStudy) -> list[Json]:
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
    tested = [_beaten(who, correct, truth[item] == always) for who, correct, item in sides]
    beaten = [side | {"answer": CHOICES[always]} for side in tested if side]
    is_many = any(side["who"] == MAJORITY for side in beaten)
    return [side for side in beaten if side["who"] != SINGLE or not is_many]


def _beaten(who: str, correct: Ints, constant: np.ndarray[Any, Any]) -> Json:
    """A side's right answers and those of the constant one; empty if they are not fewer."""
    scored = correct >= 0
    n, own, same = int(scored.sum()), int((correct == 1).sum()), int(constant[scored].sum())
    if n < MIN_COMPARED or own >= same:
        return {}
    return {"who": who, "n": n, "correct": own, "constant": same}


def _uneven(study: ReportedStudy) -> list[Json]:
    """Kinds of clusters of which a few have most of the items."""
    out = []
    for kind, codes in (("persona", study.shared.persona), ("question", study.shared.question)):
        sizes = np.bincount(codes)
        sizes = sizes[sizes > 0]
        if sizes.size < FEWEST_CLUSTERS:
            continue
        largest, items = fewest_with(MOST_ITEMS, sizes.tolist())
        if largest <= FEW_OF_ALL * sizes.size:
            entry: Json = {"of": kind, "among": int(sizes.size), "largest": largest}
            out.append(entry | {"items": items, "n": int(codes.size)})
    return out


ALWAYS = {"r1": "Always response 1", "r2": "Always response 2", "tie": "Always a tie"}


def caution_texts(report: ReportJson) -> Iterator[tuple[str, Text]]:
    """The sentences, the most important first, each with its code."""
    entries: Mapping[str, Any] = report.get("cautions", {})
    people = (
        "the only person" if report["human"].get("annotators") == 1 else "the majority of people"
    )
    name_of = {f"judges.{place}": name for place, name in enumerate(run_names(report))}
    for entry in entries.get("followed", ()):
        yield "followed", _followed_text(name_of[entry["who"]], people, entry)
    for entry in entries.get("pasted", ()):
        yield "pasted", _pasted_text(name_of[entry["who"]], entry)
    sides = name_of | {MAJORITY: people, SINGLE: "one person’s answer"}
    for entry in entries.get("tied", ()):
        of = Population("item", "where a response is right", entry["n"], report["inputs"]["items"])
        yield (
            "tied",
            say(
                "{who} gave a tie on {x} of {x.full}, and it counts as wrong there.",
                who=Name(sides[entry["who"]]) if entry["who"] != MAJORITY else Words(people),
                x=Quantity("count", of, entry["ties"]),
            ),
        )
    yield from (("constant", text) for text in _constant_texts(sides, entries.get("constant", ())))
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
        yield "uneven", _uneven_text(entry)


def _followed_text(name: str, people: str, entry: Mapping[str, Any]) -> Text:
    items = Population("item", "that both decided", entry["n"], entry["items"])
    split = Population("item", n=entry["split"])
    words = "{judge} gives the answer of {people} to all {items}"
    if entry["split"]:
        words += ", also to the {split} on which people disagree"
    return say(
        words + ". If its answers were made from theirs, comparing them says nothing.",
        judge=Name(name),
        people=Words(people),
        items=items,
        split=split,
    )


def _pasted_text(name: str, entry: Mapping[str, Any]) -> Text:
    people = Population("person", n=entry["people"], among=entry["among"])
    own = Population("answer", "of theirs", entry["answers"])
    others = Population("answer", n=entry["others"]["n"])
    share = entry["others"]["same"] / entry["others"]["n"]
    same = Quantity("share", others, share)
    verb = Words("gives" if entry["people"] == 1 else "give")
    return say(
        "{people} {verb} the same answer as {judge} every time ({own.n}), others in {same} of "
        "{same.of}. Their answers may be copies.",
        people=people,
        verb=verb,
        judge=Name(name),
        own=own,
        same=same,
    )


def _constant_texts(sides: Mapping[str, str], entries: list[Mapping[str, Any]]) -> Iterator[Text]:
    """One sentence for all sides that were scored on the same items."""
    for n, kind in dict.fromkeys((side["n"], side["who"] == SINGLE) for side in entries):
        same = [side for side in entries if (side["n"], side["who"] == SINGLE) == (n, kind)]
        of = Population("answer" if kind else "item", n=n)

        def share(count: int, of: Population = of) -> Quantity:
            return Quantity("share", of, count / of.n)

        parts = [
            clause("{who} on {x}", who=Name(sides[side["who"]]), x=share(side["correct"]))
            for side in same
        ]
        yield say(
            "{always} would be right on {x} of {x.of}, {sides}.",
            always=Name(ALWAYS[same[0]["answer"]]),
            x=share(same[0]["constant"]),
            sides=joined(parts),
        )


def _uneven_text(entry: Mapping[str, Any]) -> Text:
    largest = Population(entry["of"], n=entry["largest"], among=entry["among"])
    items = Population("item", n=entry["n"])
    share = Quantity("share", items, entry["items"] / entry["n"])
    return say(
        "{largest} {largest.has} {share} of {share.of}: results are mostly about them.",
        largest=largest,
        share=share,
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
