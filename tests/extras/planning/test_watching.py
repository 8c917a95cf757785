"""A comparison that is fixed before any answer and may be looked at while people answer."""

from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from django.utils import timezone

from analysis.data.answer_rows import PairAnswer
from extras.planning.models import WatchedComparison
from extras.planning.stats.confidence_sequence import confidence_sequence
from extras.planning.watching import (
    NotWatchable,
    _each_pair,
    fix_comparison,
    state_of,
    watched,
    watched_answers,
)
from studies.models import Study
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.factories import make_items, make_study, sign_in, stored_at_once

pytestmark = pytest.mark.django_db
URL = "/studies/watch/planning/watched/"


@stored_at_once()
def study_with_run(n_items=10, *, right=True):
    study = make_study(slug="watch", items_per_annotator=10, entry="link", reward=100)
    items = make_items(study, n_items)
    run = make_run(study=study)
    for item in items:
        wrong = "r2" if item.first_person == "r1" else "r1"
        judge_item(run, item, item.first_person if right else wrong)
    return study, items, run


@stored_at_once()
def people_answer(study: Study, items, n: int, *, wrong: int, after: int = 0) -> None:
    """`n` annotators complete; each is wrong at the first `wrong` items."""
    for number in range(n):
        rater = make_rater(
            study=study,
            is_imported=False,
            state="completed",
            ended_at=timezone.now() + timedelta(minutes=after + number),
        )
        for position, item in enumerate(items):
            other = "r2" if item.first_person == "r1" else "r1"
            choice = other if position < wrong else item.first_person
            answer(rater, item, choice)


@pytest.mark.parametrize(
    ("low", "high", "state"),
    [
        (0.01, 0.2, "better"),
        (-0.3, -0.02, "worse"),
        (-0.04, 0.03, "equivalent"),
        (-0.04, 0.2, "not_worse"),
        (-0.2, 0.1, "open"),
        (None, None, "open"),
    ],
)
def test_the_state_is_what_the_interval_settles(low, high, state):
    assert state_of(low, high, 0.05) == state


def test_each_finished_annotator_gives_one_observation_in_their_order():
    study, items, run = study_with_run()
    people_answer(study, items, 2, wrong=3, after=10)
    people_answer(study, items, 1, wrong=5)
    people_answer(study, items, 1, wrong=9, after=30)
    study.annotators.filter(ended_at=study.annotators.latest("ended_at").ended_at).update(
        excluded_at=timezone.now(), exclusion_reason="test"
    )
    study.annotators.create(state="annotating", seed=1)

    found = watched_answers(study, run)

    assert found.observations == [0.5, 0.3, 0.3]
    assert (found.items, found.answers, found.working) == (10, 30, 1)


def test_it_says_enough_and_what_stopping_saves():
    study, items, run = study_with_run(40)
    fix_comparison(study_id=study.pk, run_id=run.public_id)
    before = watched(study)
    people_answer(study, items[:10], 10, wrong=9)

    now = watched(study)

    expected = confidence_sequence(np.full(10, 0.9))
    assert (before.state, before.interval) == ("open", "no annotator has finished")
    assert (now.state, now.is_settled) == ("better", True)
    assert (now.low, now.high) == (expected.low[-1], expected.high[-1])
    assert now.words == "Settled: steady is right more often than one person."
    # 40 items with three answers need twelve people with ten items each; ten have finished.
    assert (now.people_left, now.saved) == (2, "$2.00")


def test_it_is_fixed_once_and_recorded():
    study, _, run = study_with_run()

    fix_comparison(study_id=study.pk, run_id=run.public_id)

    assert study.log.first().event == "watched comparison fixed"
    assert WatchedComparison.objects.get(study=study).margin == study.equivalence_margin
    with pytest.raises(NotWatchable, match="already fixed"):
        fix_comparison(study_id=study.pk, run_id=run.public_id)


def test_it_cannot_be_fixed_after_an_answer_or_with_a_run_of_another_study():
    study, items, run = study_with_run()
    other = make_run(study=make_study())
    with pytest.raises(NotWatchable, match="Choose a judge run of this study"):
        fix_comparison(study_id=study.pk, run_id=other.public_id)
    people_answer(study, items, 1, wrong=0)

    with pytest.raises(NotWatchable, match="already has answers"):
        fix_comparison(study_id=study.pk, run_id=run.public_id)


@pytest.mark.nightly
def test_the_page_fixes_it_and_the_monitor_shows_it():
    study, items, run = study_with_run(right=False)
    client = sign_in(study)
    refused = client.post(URL, {"run": run.public_id})
    fixed = client.post(URL, {"run": run.public_id, "final": "on"})
    people_answer(study, items, 12, wrong=0)

    page = client.get(URL).content.decode()
    monitor = client.get("/studies/watch/monitor/").content.decode()

    assert refused.status_code == 422
    assert fixed.headers["Location"] == URL
    assert "Settled: steady is right less often than one person." in page
    assert "however often you look" in page
    assert "−100.0" in monitor


def test_an_order_of_a_whole_set_is_one_answer_for_each_of_its_pairs():
    pairs = [
        PairAnswer(1, "a", "r1", "r1", "r2", True),
        PairAnswer(2, "b", "r2", "r1", "r2", False),
    ]
    of_set = SimpleNamespace(answers=lambda item, ranking: pairs if ranking == [1, 2] else [])
    rows = [(7, 1, "r1", "r1", [1, 2]), (8, 5, "r2", "r1", None)]

    found = list(_each_pair(rows, of_set))

    assert found == [(7, 1, "r1", "r1"), (7, 2, "r2", "r1"), (8, 5, "r2", "r1")]
