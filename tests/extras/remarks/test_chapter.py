"""The chapter on remarks: its numbers, and what it claims."""

from datetime import date
from itertools import combinations

import numpy as np
import pytest

from analysis.report.render import render_html
from analysis.stats import Sharing, Votes
from analysis.stats.comparison.general_difference import general_difference
from extras.remarks.chapter import CHAPTER
from extras.remarks.measures import above, in_pairs, sets_of, surprisingly_popular
from extras.remarks.models import Remarks
from extras.remarks.protocols import OTHERS, RESPONSE_SET
from extras.remarks.setup import set_questions
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.partial import report_of
from tests.extras.remarks.remarking import ALL
from tests.factories import make_item, make_study, store, stored_at_once

TIE = 2


def drawn(seed, *, answers=60, items=12):
    rng = np.random.default_rng(seed)
    item = rng.integers(0, items, answers)
    choice = rng.integers(0, 3, answers)
    either = np.where(choice == TIE, np.nan, rng.integers(0, 2, answers).astype(float))
    guess = np.where(rng.random(answers) < 0.8, rng.integers(0, 101, answers) / 100, np.nan)
    return item, choice, either, guess


@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_those_of_a_loop_over_all_pairs(seed):
    item, choice, either, _ = drawn(seed)
    shares = in_pairs(item, sets_of(choice, either), choice, 12)

    accepted = [
        {0, 1} if c == TIE or e == 1 else {int(c)} for c, e in zip(choice, either, strict=True)
    ]
    for n in range(12):
        pairs = [*combinations(np.flatnonzero(item == n), 2)]
        same = [choice[a] == choice[b] for a, b in pairs]
        meet = [bool(accepted[a] & accepted[b]) for a, b in pairs]
        assert shares[n] == pytest.approx(
            [np.mean(same), np.mean(meet)] if pairs else [np.nan] * 2, nan_ok=True
        )


@pytest.mark.parametrize("seed", range(5))
def test_guesses_and_popular_answers_are_those_of_a_loop(seed):
    item, choice, _, guess = drawn(seed)
    gaps = above(item, choice, guess, 12)
    popular, majority = surprisingly_popular(item, choice, guess, 12)

    for n in range(12):
        rows = np.flatnonzero(item == n)
        own = [
            guess[a] - np.mean([choice[b] == choice[a] for b in rows if b != a])
            for a in rows
            if not np.isnan(guess[a]) and rows.size > 1
        ]
        assert gaps[n] == pytest.approx(np.mean(own) if own else np.nan, nan_ok=True)
        voters = [a for a in rows if choice[a] != TIE and not np.isnan(guess[a])]
        if len(voters) < 2:
            assert np.isnan([popular[n], majority[n]]).all()
            continue
        share = np.mean([choice[a] == 0 for a in voters])
        guessed = np.mean([guess[a] if choice[a] == 0 else 1 - guess[a] for a in voters])
        for verdict, than in ((popular[n], guessed), (majority[n], 0.5)):
            gap = round(share - than, 9)
            assert verdict == (1 if gap > 0 else 0 if gap < 0 else 0.5)


def test_a_surprisingly_popular_minority_is_found():
    """Two of five know the answer, and everybody expects the other one to win."""
    item, choice = np.zeros(5, dtype=int), np.array([0, 0, 1, 1, 1])
    guess = np.array([0.2, 0.3, 0.9, 0.8, 0.9])

    popular, majority = surprisingly_popular(item, choice, guess, 1)

    assert (popular[0], majority[0]) == (1, 0)


def test_guesses_that_are_right_on_average_are_rarely_said_to_be_wrong():
    """People and items differ. In 400 such studies 2.5 % were false."""
    false = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        items, people = 100, 30
        item = np.repeat(np.arange(items), 3)
        person = np.argsort(rng.random((items, people)), axis=1)[:, :3].ravel()
        first = rng.beta(2, 2, items)
        choice = (rng.random(300) > first[item]).astype(int)
        right = np.where(choice == 0, first[item], 1 - first[item])
        lean = rng.normal(0, 0.1, people)
        guess = right + (lean - lean.mean())[person] + rng.normal(0, 0.1, 300)
        votes = Votes.from_long(item, person, choice, n_options=2)
        sharing = Sharing.of_items(items, {}, votes)
        p = general_difference(above(item, choice, guess, items), sharing).p
        false += p is not None and p <= 0.05
    assert false <= 5


@stored_at_once()
def fill(study, items, raters=40, parts=5):
    """Each person answers one of so many parts of the items."""
    rng = np.random.default_rng(3)
    runs = [make_run(study=study, judge=name, setting=name) for name in ("response-set", "others")]
    for n in range(raters):
        rater = make_rater(study=study)
        for place, item in [*enumerate(items)][n % parts :: parts]:
            is_right = rng.random() < 0.7
            side = item.first_person if is_right else {"r1": "r2", "r2": "r1"}[item.first_person]
            store(
                Remarks(
                    answer=answer(rater, item, side, 60),
                    revision=1,
                    flag="same" if place == 0 and n < 3 * parts else "",
                    either=not is_right,
                    others=95,
                )
            )
    for item in items:
        judge_item(runs[0], item, item.first_person, None, details={"either": True})
        judge_item(runs[1], item, item.first_person, None, details={"others": 99})


@pytest.fixture
def study(db):
    study = make_study()
    items = [
        make_item(
            study=study, key=f"i{n:02}", question=f"Q{n}?", first_person="r1r2"[n % 2 * 2 :][:2]
        )
        for n in range(60)
    ]
    set_questions(study_id=study.pk, wanted=ALL, user=None)
    fill(study, items)
    return study


@pytest.mark.nightly
def test_the_chapter_says_what_was_remarked(study):
    report = report_of(study)
    found = report["remarks"]

    assert found["flags"]["most"] == [{"item": "i00", "people": 3, "kinds": {"same": 3}}]
    people = found["either"]["people"]
    assert people["right"]["value"] == pytest.approx(1 - people["either"]["value"])
    assert people["accepted"]["value"] == 1.0
    assert people["when_wrong"]["value"] == 1.0
    assert found["either"]["judges"][0]["either"]["value"] == 1.0
    page = render_html(report, date=date(2026, 1, 1))
    words = [str(sentence.text) for sentence in CHAPTER.sentences(report)]
    assert words[0] == (
        "Items flagged in 3 of 480 answers: 1 item, 1 of these by at least two people."
    )
    assert "Annotators guess that more others choose as they do than in fact do" in page
    assert "others guesses that more people choose as it does than in fact do" in page
    assert "Wrong choices accept the other response more often than right ones" in page


@pytest.mark.nightly
def test_a_study_without_answers_or_truth_has_a_chapter(db):
    study = make_study()
    item = make_item(study=study, first_person="")
    set_questions(study_id=study.pk, wanted=ALL, user=None)
    report = report_of(study)
    assert report["remarks"]["others"]["people"]["above"]["value"] is None
    store(Remarks(answer=answer(make_rater(study=study), item, "tie"), revision=1))

    report = report_of(study)

    words = [str(sentence.text) for sentence in CHAPTER.sentences(report)]
    assert words[0] == "Nobody flagged an item in 1 answer."
    assert any(text.startswith("We cannot tell whether wrong choices") for text in words)
    assert "Remarks at items" in render_html(report, date=date(2026, 1, 1))


def test_answers_that_nobody_could_remark_are_not_said_to_have_no_flag(db):
    study = make_study()
    set_questions(study_id=study.pk, wanted=ALL, user=None)
    items = [make_item(study=study) for _ in range(4)]
    rater = make_rater(study=study)
    early = [answer(rater, item, "r1") for item in items]

    assert "agged" not in str(next(CHAPTER.sentences(report_of(study))).text)
    store(Remarks(answer=early[0], revision=1))
    assert str(next(CHAPTER.sentences(report_of(study))).text) == (
        "Nobody flagged an item in 1 answer (of 4) that could."
    )


@pytest.mark.parametrize(
    ("protocol", "reply", "side", "details"),
    [
        (RESPONSE_SET, "A]] [[yes]]", "A", {"either": True}),
        (RESPONSE_SET, "[[B]] [[No]]", "B", {"either": False}),
        (RESPONSE_SET, "[[B]]", None, {}),
        (RESPONSE_SET, "[[B]] [[yes]] [[no]]", None, {}),
        (OTHERS, "[[A]] [[70]]", "A", {"others": 70}),
        (OTHERS, "B]] [[0]]", "B", {"others": 0}),
        (OTHERS, "[[A]] [[170]]", None, {}),
        (OTHERS, "[[A]] about 70", None, {}),
    ],
)
def test_replies_of_judges_are_read(protocol, reply, side, details):
    verdict = protocol.read(reply)

    assert verdict.side == side
    assert (verdict.details or {}).items() >= details.items()
