"""Agreement with the others: by hand, and by simulation for the rate of false flags."""

import math
import random
from collections import Counter, defaultdict
from itertools import product

import pytest

from annotation.agreement import ComparedAnswer, RaterAgreement, agreement, at_least
from annotation.quality import IMPROBABLE


def said(*rows: str) -> list[ComparedAnswer]:
    """One string an item, one letter a person: their choice, upper case where it counts."""
    return [
        ComparedAnswer(person, item, letter.lower(), letter.isupper())
        for item, row in enumerate(rows)
        for person, letter in enumerate(row)
        if letter != "."
    ]


def agreements(answers: list[ComparedAnswer]) -> dict[int, RaterAgreement]:
    """The agreement of everybody in `answers`, by person."""
    votes: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for row in answers:
        if row.counts:
            votes[row.item][row.choice] += 1
    people = {row.annotator for row in answers}
    return {n: agreement([row for row in answers if row.annotator == n], votes) for n in people}


def test_pairs_and_votes_are_counted_item_by_item():
    found = agreements(said("AAB", "ABB", "AAA", "AB."))

    assert (found[0].same, found[0].compared) == (3, 7)
    assert (found[0].against, found[0].chances) == (1, [pytest.approx(1 / 3)] * 2)
    assert (found[2].against, found[2].share_against) == (1, 0.5)
    assert found[1].against == 0


def test_unanimous_and_evenly_split_items_are_not_counted():
    found = agreements(said("AAA", "AABB", "ABC"))

    assert found[0].chances == []
    assert (found[0].share_against, found[0].expected_against) == (None, None)
    assert found[0].probability == 1


def test_uncounted_answers_are_compared_but_not_used_for_comparison():
    found = agreements(said("AAb", "AAb"))

    assert (found[2].against, found[2].compared) == (2, 4)
    assert found[2].chances == [pytest.approx(1 / 3)] * 2
    assert (found[0].chances, found[0].share) == ([], 1)


@pytest.mark.parametrize("chances", [[], [0.3], [0.2, 0.5, 0.9, 0.4]])
def test_the_tail_is_the_sum_over_all_outcomes(chances):
    for successes in range(len(chances) + 1):
        total = sum(
            math.prod(p if hit else 1 - p for p, hit in zip(chances, hits, strict=True))
            for hits in product([True, False], repeat=len(chances))
            if sum(hits) >= successes
        )

        assert at_least(successes, chances) == pytest.approx(total)


def crowd(rng: random.Random, *, item_sd: float, person_sd: float) -> list[ComparedAnswer]:
    """300 items with three answers each of 30 people who follow a common guess, more or less."""
    able = [rng.gauss(0, person_sd) for _ in range(30)]
    rows = []
    for item in range(300):
        easy, guess = rng.gauss(0.5, item_sd), rng.random() < 0.5
        # Ten blocks of three: the same people meet again and again, as in the paper's design.
        for person in range(item % 10 * 3, item % 10 * 3 + 3):
            follows = rng.random() < 1 / (1 + math.exp(-easy - able[person]))
            rows.append(ComparedAnswer(person, item, "r1" if follows == guess else "r2", True))
    return rows


@pytest.mark.nightly
def test_dissent_flags_careful_people_no_more_often_than_its_caution_says():
    rng = random.Random(5)
    crowds = 100
    alike, different = (
        [
            person.probability < IMPROBABLE
            for item_sd in (0.3, 1.0, 2.0)
            for _ in range(crowds)
            for person in agreements(crowd(rng, item_sd=item_sd, person_sd=person_sd)).values()
        ]
        for person_sd in (0.0, 0.8)
    )

    assert len(alike) == 90 * crowds
    assert sum(alike) / len(alike) <= 0.001
    assert sum(different) / len(different) <= 0.01


@pytest.mark.slow
def test_somebody_who_contradicts_everybody_is_flagged():
    rng = random.Random(6)
    found = 0
    for _ in range(40):
        rows = crowd(rng, item_sd=1.0, person_sd=0.0)
        turned = [
            row._replace(choice={"r1": "r2", "r2": "r1"}[row.choice]) if row.annotator == 0 else row
            for row in rows
        ]
        found += agreements(turned)[0].probability < agreements(rows)[0].probability

    assert found > 36
