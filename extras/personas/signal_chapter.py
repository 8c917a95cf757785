"""Report chapter on what the persona is worth to people and judges."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import MD5

from analysis.data.arrays import MISSING, TIE, Dataset, DesignData, RunData
from analysis.data.extras import ExtraReader
from analysis.data.verdicts import Ints, run_options, run_votes
from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    QuantityInterval,
    Slot,
    Text,
    Words,
    clause,
    say,
)
from analysis.report.report_json import Json, put, tested, why
from analysis.report.results import Finding
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.sentences import claim_p, holds, level_of
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.tested import ReportedTest
from analysis.report.words import run_name
from analysis.stats.comparison.general_difference import (
    GeneralDifference,
    detectable_difference,
    general_difference,
)
from analysis.stats.core.multiplicity import holm, left_by_holm
from analysis.stats.core.results import BoolArray, FloatArray
from analysis.stats.core.shared_variance import Sharing
from extras.personas.chapter import Twins
from extras.personas.gain import (
    FEWEST_PERSONAS,
    Moves,
    individuality,
    moves_of,
    persona_gain,
    share_right,
)
from extras.personas.other_personas import SOURCE
from studies.models import Item, Study

HELPS, NOTHING = "worth of the persona", "personas that are worth nothing"  # kinds of claims


@dataclass(frozen=True, eq=False)
class SharedQuestions(DesignData):
    """Questions that several personas answered.

    Attributes
    ----------
    code : ndarray of int, shape (items,)
        Equal for items with the same question and responses; -1 below five personas.
    is_turned : ndarray of bool, shape (items,)
        Whether response 1 is what the code's other items call response 2.
    """

    code: Ints
    is_turned: BoolArray

    @property
    def digest(self) -> str:
        """A digest of the contents."""
        return hashlib.sha256(self.code.tobytes() + self.is_turned.tobytes()).hexdigest()


def shared_questions(
    study: Study, data: Dataset, position: Mapping[int, int]
) -> SharedQuestions | None:
    """Questions with answers of five personas or more; None if there are none."""
    known = {(item.question, item.persona) for item in data.items if item.truth}
    personas = Counter(question for question, _ in known)
    many = {question for question, n in personas.items() if n >= FEWEST_PERSONAS}
    if not many:
        return None
    rows = Item.objects.filter(study=study).values_list(
        "pk", "question", "context", *(MD5(KeyTextTransform("text", name)) for name in ("r1", "r2"))
    )
    asked: dict[tuple[str, ...], int] = {}
    code, is_turned = np.full(len(position), -1), np.zeros(len(position), dtype=np.bool_)
    texts = {position[pk]: row for pk, *row in rows.iterator() if row[0] in many}
    for place, (question, context, one, two) in sorted(texts.items()):
        if data.items[place].truth and one and two and one != two:
            pair = (question, context, *sorted((one, two)))
            code[place] = asked.setdefault(pair, len(asked))
            is_turned[place] = one > two
    few = np.bincount(code[code >= 0], minlength=len(asked)) < FEWEST_PERSONAS
    code[(code >= 0) & few[code]] = -1
    return SharedQuestions(code, is_turned) if (code >= 0).any() else None


READER = ExtraReader("shared_questions", shared_questions)


def run_counts(study: ReportedStudy, run: RunData) -> list[Ints]:
    """A run's valid answers to every item by option, for each order in which it was asked."""
    rows, shape = run.judgments, (len(study.data.items), run_options(run))
    by_order = []
    for first in (0, 1, MISSING):  # files of judgments do not always state the order
        here = (rows.choice >= 0) & (rows.shown_first == first)
        if here.any():
            counts = np.zeros(shape, dtype=np.int64)
            np.add.at(counts, (rows.item[here], rows.choice[here]), 1)
            by_order.append(counts)
    return by_order or [np.zeros(shape, dtype=np.int64)]


def _signal(study: ReportedStudy, twins: Twins, source: Mapping[str, Any]) -> Json:
    margin = float(study.data.study.equivalence_margin)
    people = study.votes.counts()
    sides = [_side(study.truth, [people], twins, twins.by_people, margin)]
    for run in study.data.runs:
        counts = run_counts(study, run)
        sides.append(_side(study.truth_for(run), counts, twins, twins.judged, margin))
    gain = [gain for _, gain in sides]
    gains = holm([difference.p for difference in gain])
    none = holm([difference.p_equivalence for difference in gain])
    entries = []
    left = left_by_holm(gains)
    for (entry, difference), p, p_none, among in zip(sides, gains, none, left, strict=True):
        reason = why(difference)
        put(entry["gain"], "p_holm", p, reason)
        put(entry["gain"], "p_none", p_none, reason)
        detectable = detectable_difference(difference, among=among)
        put(entry, "detectable", detectable, reason or "no_variation")
        entries.append(entry)
    judges = [
        identity(run) | entry for run, entry in zip(study.data.runs, entries[1:], strict=True)
    ]
    _add_without(study, twins, judges)
    return {
        "from": source["from"],
        "pairs": int(twins.before.size),
        "within_question": int(source["within_question"]),
        "margin": margin,
        "people": entries[0],
        "judges": judges,
    }


def _side(
    truth: Ints, counts: Sequence[Ints], twins: Twins, sharing: Sharing, margin: float
) -> tuple[Json, GeneralDifference]:
    """One side's entry, and what the persona is worth to it."""
    right = truth[twins.before]
    total = sum(counts[1:], counts[0])
    own, other = total[twins.before], total[twins.after]
    gain = persona_gain(own, other, right, sharing, margin=margin)
    both = ~np.isnan(share_right(own, right) - share_right(other, right))
    parts = [moves_of(count[twins.before], count[twins.after]) for count in counts]
    moves = Moves(*(_mean([getattr(part, name) for part in parts]) for name in ("across", "again")))
    moved = general_difference(moves.beyond_chance, sharing, margin=margin)
    asked_twice = ~np.isnan(moves.beyond_chance)
    entry: Json = {"n": gain.n, "gain": tested(gain), "moved": {"n": moved.n} | tested(moved)}
    if moved.value is None and not np.isnan(moves.across).all():
        entry["moved"] = {
            key: "one_sample" if key.endswith("_reason") else value
            for key, value in entry["moved"].items()
        }
    put(
        entry["moved"],
        "p_none",
        moved.p_equivalence,
        moved.interval_reason or "one_sample",
    )
    for name, values, rows in (
        ("own", share_right(own, right), both),
        ("other", share_right(other, right), both),
        ("across", moves.across, ~np.isnan(moves.across)),
        ("again", moves.again, asked_twice),
    ):
        value = float(values[rows].mean()) if rows.any() else None
        put(entry, name, value, "one_sample" if name == "again" else "not_scored")
    return entry, gain


def _mean(parts: Sequence[FloatArray]) -> FloatArray:
    """The mean over orders, of those that have a value."""
    values = np.stack(parts)
    known = ~np.isnan(values)
    n = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)


def _add_without(study: ReportedStudy, twins: Twins, judges: Sequence[Json]) -> None:
    """Accuracy on the same items without a persona, if the judge has such a run."""
    runs = study.data.runs
    bare = {_likeness(run): run for run in runs if run.features == "none"}
    for run, entry in zip(runs, judges, strict=True):
        other = bare.get(_likeness(run)) if run.features != "none" else None
        value = None
        if other is not None:
            counts = run_votes(study.data, other).counts()[twins.before]
            share = share_right(counts, study.truth_for(other)[twins.before])
            if not np.isnan(share).all():
                value = float(np.nanmean(share))
        put(entry, "without", value, "not_reported")


def _likeness(run: RunData) -> tuple[str, ...]:
    return run.judge, run.setting, run.wording, run.framing


def _individuality(study: ReportedStudy, asked: SharedQuestions) -> Json:
    truth = study.binary_truth
    use = (asked.code >= 0) & (truth >= 0) & (truth != TIE)
    rows = np.flatnonzero(use)
    turned, own = asked.is_turned[rows], truth[rows] == 0
    first = (own != turned).astype(np.int64)

    def found(counts: Ints, sharing: Sharing) -> Json:
        n = counts[rows, :2].sum(axis=1)
        share = np.divide(counts[rows, 0], n, out=np.full(rows.size, np.nan), where=n > 0)
        chosen = np.where(turned, 1 - share, share)
        result = individuality(chosen, first, asked.code[rows], sharing.take(rows))
        return {"n": result.n} | tested(result)

    return {
        "questions": int(np.unique(asked.code[rows]).size),
        "people": found(study.votes.counts(), study.shared.items),
        "judges": [
            identity(run) | found(run_votes(study.data, run).counts(), study.shared.judged)
            for run in study.data.runs
        ],
    }


def _labelled(report: ReportJson) -> list[tuple[str, ReportJson]]:
    """People and every run with their entries; people last, if they answered."""
    rows = [(run_name(entry, report["judges"]), entry) for entry in report["judges"]]
    return [*rows, ("people", report["people"])] if report["people"]["n"] else rows


def _whole(labelled: Sequence[tuple[str, ReportJson]]) -> list[tuple[str, ReportJson]]:
    """Those who saw the whole persona, if anybody did."""
    whole = [side for side in labelled if side[1].get("features", "all") == "all"]
    return whole or list(labelled)


def signal_table(report: ReportJson) -> Table:
    signal = report[SOURCE]
    rows = [
        (who[0].upper() + who[1:] if who == "people" else who, {"without": None} | dict(entry))
        for who, entry in _labelled(signal)
    ]
    return table_of_entries(
        "persona_signal",
        "Answers with the own persona and with another",
        rows,
        [
            ("Items", "count", "n"),
            ("own", "percent", "own", "Accuracy with persona"),
            ("another", "percent", "other", "Accuracy with persona"),
            ("none", "percent", "without", "Accuracy with persona"),
            ("Points", "points", "gain.value", "Worth"),
            ("95 % interval", "points_range", "gain.ci", "Worth"),
            ("Holm p", "p", "gain.p_holm", "Worth"),
            ("Detectable", "points", "detectable", "Worth"),
            ("Items", "count", "moved.n", "Choice differs"),
            ("another", "percent", "across", "Choice differs"),
            ("asked again", "percent", "again", "Choice differs"),
            ("Moved", "points", "moved.value", "Choice differs"),
            ("95 % interval", "points_range", "moved.ci", "Choice differs"),
        ],
        "Each item is asked about its persona and about another persona of the study, and both are "
        "scored by the answer of its own persona. Worth: accuracy with the own persona minus "
        "accuracy with the other, of single answers, on items with both. Detectable: the smallest "
        "worth that a study of this precision finds four times out of five. Moved: how much more "
        "often two answers differ across the personas than to the same one. Asked again: another "
        "person, or another sample of the run; both only in the same order, so that a run should "
        "have asked both orders twice. None: "
        "a run of the same judge without the persona. Intervals hold for items, people, personas "
        "and questions in general.",
        first="Who",
    )


def individuality_table(report: ReportJson) -> Table:
    chapter = report["individuality"]
    return table_of_entries(
        "individuality",
        "Differences between personas that answers reproduce",
        [
            (who[0].upper() + who[1:] if who == "people" else who, entry)
            for who, entry in _labelled(chapter)
        ],
        [
            ("Items", "count", "n"),
            ("Individuality", "decimal", "value"),
            ("95 % interval", "range", "ci", "Individuality"),
        ],
        f"Items whose question and responses were answered by {FEWEST_PERSONAS} personas or more. "
        "1: the answers follow every persona. 0: they are the same for all personas of a question. "
        "Covariance of the answers with the personas’ own answers within questions, as a share of "
        "the variance of the own answers.",
        first="Who",
    )


class PersonaSignal(Section):
    """What the persona is worth, and whether answers differ between personas."""

    name = "persona_signal"
    title = "What the persona is worth"
    inside = "Accuracy with the own persona and with another, and differences between personas"
    has_claims = True
    keys = """
        # Other personas
        persona_signal | object | Answers to the same items about their own and another persona.
        persona_signal.from | text | The study whose personas were exchanged.
        persona_signal.pairs | count | Items asked about both personas.
        persona_signal.within_question | count | Items whose other persona answered the question.
        persona_signal.margin | share | A worth within it counts as none.
        gain | object | Accuracy with the own persona minus accuracy with another.
        gain.p_none | p | Holm p that the worth is outside the margin.
        detectable | share | The smallest worth found four times out of five.
        moved | object | How much more often choices differ with another persona than by chance.
        moved.p_none | p | p that choices differ by more than the margin.
        persona_signal.people.own | share | Accuracy with the own persona.
        persona_signal.judges.own | share | Accuracy with the own persona.
        other | share | Accuracy with another persona.
        without | share | Accuracy without a persona, of another run of the judge.
        across | share | How often choices differ between the two personas.
        again | share | How often choices differ if the same is asked again.
        individuality | object | How far answers reproduce the differences between personas.
        individuality.questions | count | Questions that five personas or more answered.
    """

    def is_needed(self, report: ReportJson) -> bool:
        entry = report.get("individuality")
        return SOURCE in report or (entry is not None and bool(_labelled(entry)))

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entries of report.json; empty without other personas and without shared questions."""
        out: Json = {}
        source: Mapping[str, Any] | None = study.data.study.source.get(SOURCE)
        if source is not None:
            twins = Twins.of(study, source["mark"], of_others=True)
            if twins.before.size:
                out[SOURCE] = _signal(study, twins, source)
        asked = study.data.of(SharedQuestions)
        if asked is not None:
            out["individuality"] = _individuality(study, asked)
        return out

    def claims(self, report: ReportJson) -> Mapping[str, Sequence[float | None]]:
        if SOURCE not in report:
            return {}
        entries = [entry for _, entry in _labelled(report[SOURCE])]
        return {
            HELPS: [claim_p(side["gain"]) for side in entries],
            NOTHING: [side["gain"]["p_none"] for side in entries],
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if SOURCE in report:
            yield signal_table(report)
        if "individuality" in report:
            yield individuality_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        if SOURCE in report:
            labelled = _labelled(report[SOURCE])
            if words := self.caveat(report):
                yield Sentence.of("headline", words)
            for who, entry in labelled:
                yield Sentence("finding", _in_words(report, who, entry))
        if "individuality" in report:
            for who, entry in _whole(_labelled(report["individuality"])):
                if entry["ci"] is not None:
                    path = _path_of("individuality", report, entry)
                    of = Population("item", n=entry["n"], path=f"{path}.n")
                    interval = QuantityInterval.at(entry, "ci", path)
                    place = f"{path}.value"
                    x = Quantity("coefficient", of, entry["value"], place, interval)
                    reproduced = say(
                        "Answers of {who} to {x.of} reproduce {x} of the differences between "
                        "personas who answered the same question ({x.interval}; {all}: all, "
                        "{none}: none).",
                        who=_who(who),
                        x=x,
                        all=Quantity("level", None, 1),
                        none=Quantity("level", None, 0),
                    )
                    yield Sentence("finding", reproduced)

    def caveat(self, report: ReportJson) -> str:
        """What the persona is worth to the judge of the headline, and to people."""
        labelled = _labelled(report[SOURCE]) if SOURCE in report else []
        first = _first(report, labelled)
        if first is None:
            return ""
        words, people = [_in_words(report, *first)], report[SOURCE]["people"]
        if people["gain"]["ci"] is not None and first[0] != "people":
            words.append(_in_words(report, "people", people))
        return " ".join(map(str, words))


def _first(
    report: ReportJson, labelled: Sequence[tuple[str, ReportJson]]
) -> tuple[str, ReportJson] | None:
    """The judge of the headline, or else the first that has a worth."""
    known = [(who, side) for who, side in labelled if side["gain"]["value"] is not None]
    run = report["headline"].get("run")
    chosen = next((side for side in known if run is not None and side[1].get("run") == run), None)
    return chosen or next(iter(known), None)


def _who(who: str) -> Name | Words:
    return Words(who) if who == "people" else Name(who)


def _path_of(source: str, report: ReportJson, entry: ReportJson) -> str:
    """The place of a side's entry in report.json."""
    chapter = report[source]
    if entry is chapter["people"]:
        return f"{source}.people"
    return (
        f"{source}.judges.{next(n for n, judge in enumerate(chapter['judges']) if judge is entry)}"
    )


def _in_words(report: ReportJson, who: str, entry: ReportJson) -> Text:
    gain, moved, path = entry["gain"], entry["moved"], _path_of(SOURCE, report, entry)
    pairs = report[SOURCE]["pairs"]
    rule, places = "with a right answer", (f"{path}.n", f"{SOURCE}.pairs")
    of = Population("pair of items", rule, entry["n"], pairs, *places)
    smallest = entry["detectable"]
    detectable = None
    if smallest is not None:
        detectable = Quantity("size", of, smallest, f"{path}.detectable")
    test = ReportedTest.at(report, HELPS, gain, f"{path}.gain", of, detectable=detectable)
    limit = Quantity("margin", None, report[SOURCE]["margin"], f"{SOURCE}.margin")
    words: dict[str, Slot] = {"who": _who(who), "limit": limit}
    level = level_of(report, NOTHING)
    if test.result is not None and test.finding is Finding.OPEN and _is_within(gain, limit, level):
        words["size"] = test.number()
        if who != "people" and _is_within(moved, limit, level):
            twice, place = moved["n"], f"{path}.moved"
            of_moves = Population("pair of items", "asked twice", twice, pairs, f"{place}.n")
            moves = ReportedTest.at(report, NOTHING, moved, place, of_moves, p="p_none")
            return say(
                "{who} answers the question, not the person: another persona changes neither its "
                "accuracy ({size}) nor its choices ({moves}) by more than {limit} points.",
                moves=moves.number(),
                **words,
            )
        return say("The persona is worth less than {limit} points to {who}: {size}.", **words)
    return test.sentence(
        clause("the persona is worth something to {who}", **words),
        clause("the persona misleads {who}: another persona’s profile is better", **words),
        whether=clause("the persona is worth anything to {who}", **words),
        number="accuracy with its own persona minus another’s {x} points",
    )


def _is_within(entry: ReportJson, limit: Quantity, level: float) -> bool:
    """Whether a value is shown to be smaller than the margin, and its interval says so too."""
    ends = entry["ci"]
    inside = ends is not None and -limit.value < ends[0] and ends[1] < limit.value
    return inside and holds(entry, level, "p_none")


CHAPTER = PersonaSignal()
