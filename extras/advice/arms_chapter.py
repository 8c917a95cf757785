"""Report chapter on answers with a debate, with one adviser, and without either."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.data.arrays import MISSING, RunData
from analysis.data.verdicts import Ints
from analysis.report.quantities import Name, Population, Quantity, Slot, Text, Words, clause
from analysis.report.report_json import Json, put, tested, why
from analysis.report.section import Analysis, ReportJson, Section, Sentence
from analysis.report.sentences import DETECTABLE, claim_p
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.tested import ReportedTest
from analysis.report.words import run_name
from analysis.stats.comparison.general_difference import (
    GeneralDifference,
    detectable_difference,
)
from analysis.stats.core.multiplicity import holm, left_by_holm
from analysis.stats.core.results import BoolArray, FloatArray
from extras.advice.answers_before import Advised
from extras.advice.arguing import SOURCE
from extras.advice.arm_effects import ArmAnswers, arm_difference, mean_in, mind_changes
from extras.advice.arms import item_and_arm
from extras.advice.beliefs import Beliefs
from extras.advice.models import Arm

KIND = "debates and advisers"  # of claims
ARMS = list(Arm.values)
NAMES = {"none": "alone", "consultancy": "with one adviser", "debate": "with a debate"}
BRIEFLY = {"none": "alone", "consultancy": "one adviser", "debate": "debate"}
CONTRASTS = (("debate", "none"), ("consultancy", "none"), ("debate", "consultancy"))


@dataclass(frozen=True, eq=False)
class _Rater:
    """The answers of people or a run in all arms, and those given twice, one entry each."""

    answers: ArmAnswers
    before: Ints
    after: Ints
    truth: Ints
    arm: Ints
    favors: Ints
    belief: Ints | None = None  # of people: 1 right, 0 wrong, -1 not known

    def take(self, rows: BoolArray) -> "_Rater":
        """Some answers of people, which are the same rows in both."""
        own = (self.before, self.after, self.truth, self.arm, self.favors)
        return _Rater(self.answers.take(rows), *(values[rows] for values in own))


def _people(study: ReportedStudy, advised: Advised, stem: Ints, arm: Ints) -> _Rater:
    rows = study.data.answers
    choice, truth = rows.choice.astype(np.int64), study.truth[rows.item]
    beliefs = study.data.of(Beliefs)
    belief = None
    if beliefs is not None:
        own = beliefs.choice.astype(np.int64)
        known = (own >= 0) & (truth >= 0)
        belief = np.where(known, (own == truth).astype(np.int64), MISSING)
    answers = _answers(study, stem, rows.item, arm[rows.item], choice, truth, rows.certainty)
    return _Rater(
        ArmAnswers(
            answers.item, answers.arm, answers.right, answers.certainty, rows.rater, answers.codes
        ),
        before=advised.people.choice.astype(np.int64),
        after=choice,
        truth=truth,
        arm=arm[rows.item],
        favors=advised.favors[rows.item].astype(np.int64),
        belief=belief,
    )


def _judge(study: ReportedStudy, advised: Advised, run: RunData, stem: Ints, arm: Ints) -> _Rater:
    """A run's answers after the text in its arm; its first answers are those without a text."""
    before, rows = advised.runs.get(run.run), run.judgments
    choice, first = rows.choice.astype(np.int64), np.full(len(rows), MISSING)
    sure = np.full(len(rows), np.nan)
    if before is not None:
        first, sure = before.choice.astype(np.int64), before.certainty
    item = np.concatenate([rows.item, rows.item])
    none = np.full(len(rows), ARMS.index(Arm.NONE))
    answers = _answers(
        study,
        stem,
        item,
        np.concatenate([none, arm[rows.item]]),
        np.concatenate([first, choice]),
        study.truth_for(run)[item],
        np.concatenate([sure, rows.certainty]),
    )
    truth = study.truth_for(run)[rows.item]
    favors = advised.favors[rows.item].astype(np.int64)
    return _Rater(answers, first, choice, truth, arm[rows.item], favors)


def _answers(
    study: ReportedStudy,
    stem: Ints,
    item: Ints,
    arm: Ints,
    choice: Ints,
    truth: Ints,
    certainty: FloatArray,
) -> ArmAnswers:
    known = (choice >= 0) & (truth >= 0)
    n = int(stem.max()) + 1
    codes = {}
    for name, of_items in (("persona", study.shared.persona), ("question", study.shared.question)):
        code = np.zeros(n, dtype=np.int64)
        code[stem] = of_items
        codes[name] = code
    sure = np.where(choice >= 0, certainty / 100, np.nan)
    return ArmAnswers(stem[item], arm, np.where(known, choice == truth, np.nan), sure, None, codes)


_Tests = list[tuple[Json, GeneralDifference]]


def _entry(rater: _Rater, used: Sequence[str], margin: float) -> tuple[Json, _Tests]:
    """What report.json says of one rater, and its tests."""
    answers = rater.answers
    out: Json = {"arms": {}, "differences": [], "advisers": {}}
    for name in (arm for arm in ARMS if arm in used):
        out["arms"][name] = _arm(rater, ARMS.index(name))
    tests: _Tests = []
    for one, other in CONTRASTS:
        if one in used and other in used:
            pair = ARMS.index(one), ARMS.index(other)
            difference = arm_difference(answers.right, answers, *pair, margin=margin)
            entry = {"one": one, "other": other, "n": difference.n} | tested(difference)
            sure = arm_difference(answers.overconfidence, answers, *pair, margin=margin)
            entry["overconfidence"] = {"n": sure.n} | tested(sure)
            out["differences"].append(entry)
            tests.append((entry, difference))
    advised = rater.arm == ARMS.index(Arm.CONSULTANCY)
    for name, sides in (
        ("right", rater.favors == rater.truth),
        ("wrong", rater.favors != rater.truth),
    ):
        rows = advised & sides & (rater.favors >= 0) & (rater.truth >= 0) & (rater.after >= 0)
        out["advisers"][name] = _accuracy(rater.after == rater.truth, rows)
    if rater.belief is not None:
        out["beliefs"] = _beliefs(rater, rater.belief, used, margin)
    return out, tests


def _arm(rater: _Rater, arm: int) -> Json:
    answers = rater.answers
    scored = (answers.arm == arm) & ~np.isnan(answers.right)
    out: Json = {"n": int(scored.sum())}
    for name, values in (
        ("accuracy", answers.right),
        ("certainty", answers.certainty),
        ("overconfidence", answers.overconfidence),
        ("brier", answers.overconfidence**2),
    ):
        why = "not_reported" if name != "accuracy" and scored.any() else "not_scored"
        put(out, name, mean_in(values, answers, arm), why)
    here = rater.arm == arm
    changes = mind_changes(rater.before[here], rater.after[here], rater.truth[here])
    out["twice"] = changes.n
    for name, count, among in (
        ("changed", changes.changed, changes.n),
        ("corrected", changes.corrected, changes.wrong),
        ("misled", changes.misled, changes.right),
    ):
        put(out, name, count / among if among else None)
    return out


def _accuracy(right: BoolArray, rows: BoolArray) -> Json:
    out: Json = {"n": int(rows.sum())}
    put(out, "accuracy", float(right[rows].mean()) if rows.any() else None)
    return out


def _beliefs(rater: _Rater, belief: Ints, used: Sequence[str], margin: float) -> Json:
    """Each arm of people whose own answer was right, wrong, or is not known."""
    groups: Json = {}
    for name, code in (("right", 1), ("wrong", 0), ("unknown", MISSING)):
        part = rater.take(belief == code)
        rows = []
        for arm in (arm for arm in ARMS if arm in used):
            at, none = ARMS.index(arm), ARMS.index(Arm.NONE)
            entry: Json = {"arm": arm, **_arm(part, at)}
            if arm != Arm.NONE:
                gain = arm_difference(part.answers.right, part.answers, at, none, margin=margin)
                entry["gain"] = {"n": gain.n} | tested(gain)
            rows.append(entry)
        groups[name] = rows
    return groups


def _labelled(report: ReportJson) -> list[tuple[str, ReportJson]]:
    arms = report["arms"]
    rows = [(run_name(entry, arms["judges"]), entry) for entry in arms["judges"]]
    has_people = any(arm["n"] for arm in arms["people"]["arms"].values())
    return [("people", arms["people"])] * has_people + rows


def _named(who: str) -> str:
    return "People" if who == "people" else who


def arms_table(report: ReportJson) -> Table:
    rows = [
        (f"{_named(who)}, {NAMES[arm]}", cells)
        for who, entry in _labelled(report)
        for arm, cells in entry["arms"].items()
    ]
    return table_of_entries(
        "arms",
        "Answers alone, with one adviser, and with a debate",
        rows,
        [
            ("Answers", "count", "n"),
            ("Right", "percent", "accuracy"),
            ("Certainty", "percent", "certainty"),
            ("Overconfidence", "points", "overconfidence"),
            ("Brier score", "decimal", "brier"),
            ("Answers", "count", "twice", "Given before and after"),
            ("changed", "percent", "changed", "Given before and after"),
            ("corrected", "percent", "corrected", "Given before and after"),
            ("misled", "percent", "misled", "Given before and after"),
        ],
        "Overconfidence: mean certainty minus the share of right answers. Brier score: mean square "
        "of certainty minus being right; 0 is best. Corrected: of the wrong first answers, those "
        "that are right after the text. Misled: of the right ones, those that are wrong. Judges "
        "“alone”: their answers before the text.",
        first="Who",
    )


def differences_table(report: ReportJson) -> Table:
    rows = [
        (f"{_named(who)}, {_words(difference['one'], difference['other'])}", difference)
        for who, entry in _labelled(report)
        for difference in entry["differences"]
    ]
    return table_of_entries(
        "arms_differences",
        "What a debate and an adviser change",
        rows,
        [
            ("Items", "count", "n"),
            ("Points", "points", "value", "Right"),
            ("95 % interval", "points_range", "ci", "Right"),
            ("Holm p", "p", "p_holm", "Right"),
            ("Detectable", "points", "detectable", "Right"),
            ("Points", "points", "overconfidence.value", "Overconfidence"),
            ("95 % interval", "points_range", "overconfidence.ci", "Overconfidence"),
        ],
        "Mean over the items with answers in both arms. Arms are drawn, so a difference is their "
        "effect. Intervals hold for items, people, personas and questions in general. Holm p: over "
        f"all rows. {DETECTABLE}",
        first="Who",
    )


def advisers_table(report: ReportJson) -> Table:
    return table_of_entries(
        "arms_advisers",
        "Right answers with an adviser who argues for the right or the wrong response",
        [(_named(who), entry) for who, entry in _labelled(report)],
        [
            ("Answers", "count", "advisers.right.n", "Adviser is right"),
            ("Right", "percent", "advisers.right.accuracy", "Adviser is right"),
            ("Answers", "count", "advisers.wrong.n", "Adviser is wrong"),
            ("Right", "percent", "advisers.wrong.accuracy", "Adviser is wrong"),
        ],
        "The side of the adviser is drawn: half of the advisers argue for the right response.",
        first="Who",
    )


def beliefs_table(report: ReportJson) -> Table:
    says = {"right": "Own answer right", "wrong": "Own answer wrong", "unknown": "Not known"}
    rows = [
        (
            f"{says[name]}, {NAMES[entry['arm']]}",
            {"gain": {"value": None, "ci": None}} | dict(entry),
        )
        for name, entries in report["arms"]["people"]["beliefs"].items()
        for entry in entries
    ]
    return table_of_entries(
        "arms_beliefs",
        "People by what they believed before",
        rows,
        [
            ("Answers", "count", "n"),
            ("Right", "percent", "accuracy"),
            ("Points", "points", "gain.value", "Compared with alone"),
            ("95 % interval", "points_range", "gain.ci", "Compared with alone"),
            ("Overconfidence", "points", "overconfidence"),
            ("changed", "percent", "changed", "Given before and after"),
            ("corrected", "percent", "corrected", "Given before and after"),
            ("misled", "percent", "misled", "Given before and after"),
        ],
        "Own answer: what the same person chose for themselves in the earlier study, compared with "
        "the answer that is right for the persona.",
        first="Belief",
    )


def _words(one: str, other: str) -> str:
    return f"{BRIEFLY[one]} compared with {BRIEFLY[other]}"


class ArmsSection(Section):
    """Whether people and judges are right more often with a debate or with one adviser."""

    name = "arms"
    title = "Debates and advisers"
    inside = "Accuracy, certainty and changes of mind with a debate, with one adviser, and alone"
    has_claims = True
    keys = """
        # Debates and advisers
        arms | object | Answers alone, with one adviser, and with a debate.
        arms.from | text | The study whose items were argued about.
        arms.items | count | Items that were asked in each arm.
        arms.left_out | count | Items that miss an argument.
        writers | list | The judges that wrote the arguments.
        arms.people.arms | object | One entry for each arm.
        arms.people.arms.* | object | Answers in this arm.
        arms.judges.arms | object | One entry for each arm.
        arms.judges.arms.* | object | Answers in this arm.
        arms.*.accuracy | share | Share of right answers.
        arms.*.certainty | share | Mean certainty.
        overconfidence | share | Mean certainty minus the share of right answers.
        brier | number | Mean square of certainty minus being right.
        twice | count | Answers given before and after the text.
        arms.*.changed | share | Of these, those that changed.
        corrected | share | Of the wrong first answers, those that are right after the text.
        misled | share | Of the right first answers, those that are wrong after the text.
        differences | list | Differences between two arms.
        one | text | The arm that is compared.
        other | text | The arm that it is compared with.
        detectable | share | The smallest difference found four times out of five.
        advisers | object | Answers by whether the adviser argued for the right response.
        advisers.* | object | Answers where the adviser argued for this response.
        beliefs | object | People by whether their own earlier answer was right.
        beliefs.* | list | Answers in each arm.
        beliefs.*.accuracy | share | Share of right answers.
        beliefs.*.certainty | share | Mean certainty.
        beliefs.*.changed | share | Of the answers given twice, those that changed.
        arm | text | none, consultancy or debate.
        gain | object | Accuracy in this arm minus accuracy without a text.
    """
    analyses = (
        Analysis(
            "arms",
            tables=("arms", "arms_differences", "arms_advisers", "arms_beliefs"),
            paths=("arms",),
        ),
    )

    def is_needed(self, report: ReportJson) -> bool:
        return "arms" in report and bool(_labelled(report))

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty for a study without arms."""
        source: Mapping[str, Any] | None = study.data.study.source.get(SOURCE)
        advised = study.data.of(Advised)
        if source is None or advised is None:
            return {}
        item_arms = [item_and_arm(item.key) for item in study.data.items]
        stems = {stem: place for place, stem in enumerate(sorted({stem for stem, _ in item_arms}))}
        stem = np.array([stems[name] for name, _ in item_arms], dtype=np.int64)
        arm = np.array(
            [ARMS.index(a) if a in ARMS else MISSING for _, a in item_arms], dtype=np.int64
        )
        margin = float(study.data.study.equivalence_margin)
        people = _people(study, advised, stem, arm)
        judged = [(run, _judge(study, advised, run, stem, arm)) for run in study.data.runs]
        raters = [people, *(rater for run, rater in judged if run.run in advised.runs)]
        entries = [_entry(rater, source["arms"], margin) for rater in raters]
        tests = [test for _, tests in entries for test in tests]
        ps = holm([difference.p for _, difference in tests])
        adjusted, left = iter(ps), iter(left_by_holm(ps))
        for _, tests in entries:
            for entry, difference in tests:
                reason = why(difference)
                put(entry, "p_holm", next(adjusted), reason)
                put(
                    entry,
                    "detectable",
                    detectable_difference(difference, among=next(left)),
                    reason or "no_variation",
                )
        runs = [run for run in study.data.runs if run.run in advised.runs]
        return {
            "arms": {
                "from": source["from"],
                "items": int(source["items"]),
                "left_out": int(source["left_out"]),
                "writers": list(source["judges"]),
                "people": entries[0][0],
                "judges": [
                    identity(run) | entry for run, (entry, _) in zip(runs, entries[1:], strict=True)
                ],
            }
        }

    def claims(self, report: ReportJson) -> Mapping[str, Sequence[float | None]]:
        if not self.is_needed(report):
            return {}
        entries = [gain for _, entry in _labelled(report) for gain in entry["differences"]]
        return {KIND: [claim_p(gain) for gain in entries]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if self.is_needed(report):
            yield arms_table(report)
            yield differences_table(report)
            if any("consultancy" in entry["arms"] for _, entry in _labelled(report)):
                yield advisers_table(report)
            if "beliefs" in report["arms"]["people"]:
                yield beliefs_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for side, (who, entry) in enumerate(_labelled(report) if self.is_needed(report) else ()):
            has_people = len(_labelled(report)) > len(report["arms"]["judges"])
            path = "people" if who == "people" else f"judges.{side - has_people}"
            for place, difference in enumerate(entry["differences"]):
                words = _in_words(report, who, difference, f"arms.{path}.differences.{place}")
                yield Sentence("finding", words)


def _in_words(report: ReportJson, who: str, entry: ReportJson, path: str) -> Text:
    of = Population(
        "item",
        f"that {who} answered both {NAMES[entry['one']]} and {NAMES[entry['other']]}",
        entry["n"],
        report["arms"]["items"],
        f"{path}.n",
        "arms.items",
    )
    detectable = None
    if entry["detectable"] is not None:
        detectable = Quantity("size", of, entry["detectable"], f"{path}.detectable")
    test = ReportedTest.at(report, KIND, entry, path, of, detectable=detectable)
    arms: dict[str, Slot] = {
        "who": Words(who) if who == "people" else Name(who),
        "verb": Words("are" if who == "people" else "is"),
        "one": Words(NAMES[entry["one"]]),
        "other": Words(NAMES[entry["other"]]),
    }
    more = clause("{who} {verb} right more often {one} than {other}", **arms)
    less = clause("{who} {verb} right less often {one} than {other}", **arms)
    whether = clause("{who} {verb} right more or less often {one} than {other}", **arms)
    return test.sentence(more, less, whether=whether)


CHAPTER = ArmsSection()
