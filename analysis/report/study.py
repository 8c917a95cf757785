"""The input of every section: data, answers, options, clusters and competing runs.

A hundred items about ten personas say less about personas in general than a hundred personas would,
so every main cell states its clusters and has an interval that allows for them.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import MISSING, TIE, Dataset, RunData
from analysis.data.frozen_plan import USUAL_FRAMING
from analysis.data.verdicts import Ints, Verdicts, people_verdicts, run_options, run_verdicts
from analysis.report.report_json import Json, put
from analysis.report.rules import MIN_COMPARED
from analysis.stats.comparison.replacement import ONE_LABEL
from analysis.stats.core.clusters import MIN_BLOCKS, annotator_blocks
from analysis.stats.core.multiplicity import holm
from analysis.stats.core.multiway import multiway_proportion
from analysis.stats.core.results import Proportion, n_distinct
from analysis.stats.core.shared_variance import (
    ANNOTATOR,
    ANNOTATORS_PER_ANSWER,
    FEW_CLUSTERS,
    FEWEST_ANNOTATORS,
    SharedKind,
    Sharing,
    effective_number,
)
from analysis.stats.core.votes import Votes

# The populations of intervals that allow for all of these clusters.
IN_GENERAL = "items, people, personas and questions in general"
FOR_THESE_PEOPLE = "items, personas and questions in general, and these people"
NAMES = {"persona": "personas", "question": "questions", "annotator": "people"}
Entry = Mapping[str, Any]
# A run competes if it has answered this share of the items of similar runs.
ENOUGH_ITEMS = 0.9


@dataclass(frozen=True, eq=False)
class ReportedStudy:
    """A study's data and a report's options; everything else is computed once.

    `threshold` is the certainty from which an answer is high, `draws` the number of resamples.
    """

    data: Dataset
    threshold: int
    seed: int
    draws: int

    @cached_property
    def people(self) -> Verdicts:
        """The majority of annotators."""
        return people_verdicts(self.data)

    @cached_property
    def judges(self) -> list[Verdicts]:
        """The verdicts of every run, in the order of the runs."""
        return [run_verdicts(self.data, run) for run in self.data.runs]

    @cached_property
    def whole_runs(self) -> list[int]:
        """Positions of the runs that saw the whole persona; of all runs if none did."""
        runs = self.data.runs
        return [n for n, run in enumerate(runs) if run.features == "all"] or list(range(len(runs)))

    @property
    def votes(self) -> Votes:
        """Single answers of annotators."""
        return self.people.majority.votes

    @cached_property
    def truth(self) -> Ints:
        """The right answer to each item among the annotators' options, shape (items,)."""
        return self.data.scored_truth(offers_tie=self.data.study.allow_tie).astype(np.int64)

    @cached_property
    def correct_alone(self) -> Ints:
        """The score of each single answer: 1 right, 0 wrong, -1 without a truth to score it by."""
        own = self.truth[self.votes.item]
        return np.where(own >= 0, (self.votes.choice == own).astype(np.int64), MISSING)

    @cached_property
    def binary_truth(self) -> Ints:
        """The right answer to each item between two responses; a true tie counts as neither."""
        return self.data.scored_truth(offers_tie=False).astype(np.int64)

    def is_binary(self, judge: Verdicts) -> bool:
        """Whether neither annotators nor the run could, or did, answer tie."""
        return self.votes.n_options == 2 and not (judge.answer == TIE).any()

    @cached_property
    def shared(self) -> "SharedClusters":
        """The clusters shared by items and answers."""
        return shared_by(self.data, self.votes)

    def votes_with_options_of(self, run: RunData) -> Votes:
        """Single answers, with as many options as annotators or the run had."""
        return replace(self.votes, n_options=max(self.votes.n_options, run_options(run)))

    def rng(self) -> np.random.Generator:
        """A generator that starts from the seed, so that a further run changes no other number."""
        return np.random.default_rng(self.seed)

    def truth_for(self, run: RunData) -> Ints:
        """The right answer to each item among a run's options."""
        return self.data.scored_truth(offers_tie=run.offers_tie).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SharedClusters:
    """Codes of each item's persona, question and block of annotators, shape (items,).

    `block` is None if annotators form too few disjoint blocks. `items` has everything that items
    share, including the annotators who voted; `judged` is the same without annotators, and
    `answers` has what single answers share.
    """

    persona: Ints
    question: Ints
    block: Ints | None
    items: Sharing
    judged: Sharing
    answers: Sharing

    def of_items(self, items: Ints, *, by_people: bool = False) -> dict[str, Ints]:
        """Clusterings of item rows; `by_people` if annotators answered them."""
        clusters = {"item": items, "persona": self.persona[items], "question": self.question[items]}
        if by_people and self.block is not None:
            clusters["block"] = self.block[items]
        return clusters

    def of_judgments(self, items: Ints) -> Sharing:
        """What a run's rows share: several can be about one item."""
        return Sharing.of_items(items.size, self.of_items(items))


def shared_by(data: Dataset, votes: Votes) -> SharedClusters:
    blocks = annotator_blocks(votes)
    enough = n_distinct(blocks[blocks >= 0]) >= MIN_BLOCKS
    persona = _codes(item.persona for item in data.items)
    question = _codes(_questions(data))
    clusters = {"persona": persona, "question": question}
    items = Sharing.of_items(len(data.items), clusters, votes)
    of_answers = {"item": votes.item, ANNOTATOR: votes.annotator} | {
        name: codes[votes.item] for name, codes in clusters.items()
    }
    rows = np.arange(votes.n)
    return SharedClusters(
        persona=persona,
        question=question,
        block=blocks.astype(np.int64) if enough else None,
        items=items,
        judged=items.without(ANNOTATOR),
        answers=Sharing.of(
            votes.n,
            {name: SharedKind.of(rows, codes, votes.n) for name, codes in of_answers.items()},
        ),
    )


def _questions(data: Dataset) -> Sequence[Hashable]:
    """What each item asks, in its own words or as a rare design defines."""
    asked = (extra.questions(data.items) for extra in data.extras.values())
    return next(
        (questions for questions in asked if questions), [item.question for item in data.items]
    )


def _codes(values: Iterable[Hashable]) -> Ints:
    """Codes, equal for equal values, in order of appearance.

    If some have a value, each one without gets its own code: items about nobody known do not share
    a persona. If none has, all count as one.
    """
    rows = list(values)
    codes = {value: code for code, value in enumerate(dict.fromkeys(rows))}
    coded = np.fromiter(map(codes.__getitem__, rows), dtype=np.int64, count=len(rows))
    if "" in codes and len(codes) > 1:
        empty = np.flatnonzero(coded == codes[""])
        coded[empty[1:]] = len(codes) + np.arange(empty.size - 1)
    return coded


def tally(values: Ints) -> dict[str, int]:
    """How often each value occurs."""
    distinct, n = np.unique(values, return_counts=True)
    return dict(zip(map(str, distinct.tolist()), n.tolist(), strict=True))


def counted(sharing: Sharing) -> Json:
    """Numbers of annotators, personas and questions behind a result."""
    return {
        label: sharing.n_clusters[name]
        for name, label in NAMES.items()
        if name in sharing.n_clusters
    }


def rests_on(within: Sharing) -> Json:
    """Clusters of each kind, and the kinds with few, too few, or only one.

    `people_effective` is the effective number of annotators, given their shares of the answers.
    """
    sizes = counted(within)
    people = within.kinds.get(ANNOTATOR)
    effective = None if people is None else effective_number(people.sizes)
    uneven: Json = {}
    if people is not None and effective is not None:
        total = float(people.sizes.sum())
        least = max(FEWEST_ANNOTATORS, ANNOTATORS_PER_ANSWER * total / within.n)
        uneven["people_largest"] = round(float(people.sizes.max() / total), 6)
        uneven["people_uneven"] = ANNOTATOR in within.short and sizes["people"] >= least
    put(uneven, "people_effective", None if effective is None else round(effective, 6), "no_votes")
    return uneven | {
        "clusters": sizes,
        "too_few": [NAMES[name] for name in within.short if name in NAMES],
        "few": [
            NAMES[name]
            for name in (ANNOTATOR, "persona", "question")
            if 1 < sizes.get(NAMES[name], 0) < FEW_CLUSTERS and name not in within.short
        ],
        "one": [label for label, size in sizes.items() if size == 1 and label != "people"],
    }


def put_holm(tests: Sequence[Json]) -> None:
    """Add to each test its p adjusted over all of them, after Holm."""
    for test, p in zip(tests, holm([test["p"] for test in tests]), strict=True):
        put(test, "p_holm", p, test.get("p_reason"))


def fix_people(result: Json, n_people: int) -> None:
    """Mark a clustered result as holding for these people only."""
    result["holds_for"] = FOR_THESE_PEOPLE
    result["clusters"] = {"people": n_people, **result["clusters"]}
    result["one"] = ["people", *result["one"]]


def by_certainty(
    study: ReportedStudy, side: Verdicts, items: Ints, threshold: float
) -> tuple[Proportion, Proportion]:
    """A side's accuracy on some items, in total and at its own high and low certainty."""
    scored = items[side.correct[items] >= 0]
    certainty = side.certainty[scored]

    def share(rows: npt.NDArray[np.bool_]) -> Proportion:
        chosen = scored[rows]
        clusters = study.shared.of_items(chosen, by_people=side is study.people)
        return multiway_proportion(side.correct[chosen] == 1, clusters).proportion

    return share(certainty >= threshold), share(certainty < threshold)


def members_of(values: Sequence[str]) -> dict[str, Ints]:
    """Positions of the items that have each value."""
    number: dict[str, int] = {}
    codes = np.fromiter((number.setdefault(value, len(number)) for value in values), np.int64)
    ends = np.cumsum(np.bincount(codes, minlength=1))
    parts = np.split(np.argsort(codes, kind="stable"), ends[:-1])
    return dict(zip(number, parts, strict=False))


def on_side(choice: npt.NDArray[np.integer], shown_first: npt.NDArray[np.integer]) -> Ints:
    """The chosen side: 0 for side A, 1 for side B, -1 for a tie or nothing."""
    placed = (choice >= 0) & (choice != TIE) & (shown_first >= 0)
    return np.where(placed, (choice != shown_first).astype(np.int64), MISSING)


def identity(run: RunData) -> Json:
    """The fields that identify a run, wherever it is named.

    Wording and framing are included if they are not the defaults.
    """
    fields = {"judge": run.judge, "run": run.run, "setting": run.setting, "features": run.features}
    if run.wording:
        fields["wording"] = run.wording
    if run.framing != USUAL_FRAMING:
        fields["framing"] = run.framing
    return fields


def is_whole(judges: Sequence[Entry]) -> list[bool]:
    """Whether each run has answered the items of other runs with the same features.

    A trial with few items does not compete with whole runs, however accurate it was.
    """
    answered = [judge["items"] - judge["excluded"]["open"] for judge in judges]
    most: dict[str, int] = {}
    for judge, n in zip(judges, answered, strict=True):
        most[judge["features"]] = max(n, most.get(judge["features"], 0))
    pairs = zip(judges, answered, strict=True)
    return [n >= ENOUGH_ITEMS * most[judge["features"]] for judge, n in pairs]


def families(judges: Sequence[Entry]) -> list[list[int]]:
    """Split all runs into families: competing runs, and other runs with equal features."""
    first = competitors(judges)
    groups = [first] if first else []
    rest = [index for index in range(len(judges)) if index not in first]
    for features in dict.fromkeys(judges[index]["features"] for index in rest):
        groups.append([index for index in rest if judges[index]["features"] == features])
    return groups


def competitors(judges: Sequence[Entry]) -> list[int]:
    """Positions of scored runs that saw the whole persona, or of all scored runs if none did.

    Runs with too few items do not compete, unless a plan names them.
    """
    scored = [
        index
        for index, judge in enumerate(judges)
        if judge["accuracy"] is not None and judge.get("competes", True)
    ]
    return [index for index in scored if judges[index]["features"] == "all"] or scored


def asked_of_all(data: Dataset, family: Sequence[int]) -> npt.NDArray[np.bool_] | None:
    """The items that all runs of a family were asked, if runs differ and these are enough.

    Runs that were asked different items are compared on these, so that none wins because of easier
    items.
    """
    asked = np.zeros((len(family), len(data.items)), dtype=np.bool_)
    for row, index in enumerate(family):
        rows = data.runs[index].judgments
        asked[row, rows.item[rows.status != "open"]] = True
    everybody: npt.NDArray[np.bool_] = np.asarray(asked.all(axis=0))
    if everybody.sum() < MIN_COMPARED or (asked == everybody).all():
        return None
    return everybody


def best_run(judges: Sequence[Entry]) -> int | None:
    """The competitor with the largest share of correct answers among the items it was asked.

    Only scorable items count and, if runs were asked different items, only those that all were
    asked. Undecided items count against a run, so that deciding only easy items does not help.
    """

    def right_share(index: int) -> tuple[float, int]:
        judge = judges[index]
        if counts := judge.get("asked_of_all"):
            return counts["correct"] / max(1, counts["items"]), -index
        return judge["correct"] / (judge["items"] - judge["excluded"]["no_truth"]), -index

    return max(competitors(judges), key=right_share, default=None)


def tied_with(judges: Sequence[Entry], best: int) -> list[int]:
    """The competitors that are right on as many of as many items as the best, which is one."""

    def counts(judge: Entry) -> tuple[int, int, int]:
        return judge["correct"], judge["n"], judge["items"]

    return [n for n in competitors(judges) if counts(judges[n]) == counts(judges[best])]


def replacement_tests(report: Entry) -> list[tuple[Entry, int]]:
    """The pooled tests of judges that could replace an annotator, with their positions."""
    tests = [
        (entry["pooled_replacement"], index)
        for index, entry in enumerate(report["comparison"])
        if entry["pooled_replacement"]["advantage_of_people"] is not None
    ]
    whole = [test for test in tests if report["judges"][test[1]]["features"] == "all"]
    return whole or tests


def closest_to_people(tests: Sequence[tuple[Entry, int]]) -> tuple[Entry, int]:
    """The test of the judge closest to an annotator; one that gives one label comes last."""
    return min(
        tests, key=lambda test: (one_label(test[0]), test[0]["advantage_of_people"], test[1])
    )


def one_label(test: Entry) -> bool:
    """Whether a judge gives nearly every item the same label and so decides nothing."""
    return (test.get("same_label") or 0.0) > ONE_LABEL


def asked_about(report: Entry) -> int | None:
    """The judge that the first screen is about; None if it is about none."""
    if "run" in report["headline"]:
        runs = [judge["run"] for judge in report["judges"]]
        return runs.index(report["headline"]["run"])
    tests = replacement_tests(report) if report["headline"]["state"] == "no_truth" else []
    return closest_to_people(tests)[1] if tests else None


def certain_items_differ(people: Entry, judge: Entry, comparison: Entry) -> bool:
    """Whether the items of high certainty of the majority and of a judge are not the same."""
    both = comparison["certainty"]["high_sets"]["cells"]["both"]["people"]["n"]
    return bool({people["majority"]["high"]["n"], judge["high"]["n"]} != {both})


def standing(difference: Entry) -> str:
    """How a run compares with the majority by its `difference_general`, as a headline's state."""
    if difference["value"] is None or difference["n"] < MIN_COMPARED:
        return "too_few"
    state = difference["state"] or "inconclusive"
    if state.startswith("different"):
        return "better" if difference["value"] > 0 else "worse"
    return "equivalent" if state == "equivalent" else "cannot_tell"
