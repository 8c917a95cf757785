"""Anchors: asked at the start and the end of a run, counted nowhere else, compared exactly."""

import json
from collections import Counter
from datetime import timedelta

import numpy as np
import pytest
from django.utils import timezone
from scipy.stats import binomtest, fisher_exact

from analysis.data.dataset import load_dataset
from analysis.data.judgment_rows import judgment_rows
from judging import tasks
from judging.drift import AnchorComparison, Share, anchors_of, chance_of_as_many, create_anchors
from judging.errors import InvalidValue
from judging.models import JudgeRun, Judgment
from judging.runs.costs import estimate_run
from judging.runs.lifecycle import retry_failed, work_off
from judging.runs.spec import RunSpec
from judging.runs.start import run_for
from judging.selectors import run_cost, run_progress
from studies.models import Item
from tests.factories import make_items, make_study
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion, error
from tests.judging.run_helpers import called_by, judge_all, start


def anchors(run, when=None):
    found = Judgment.everything.filter(run=run).exclude(anchor="")
    return found.filter(anchor=when) if when else found


def study_of(count):
    study = make_study()
    make_items(study, count)
    return study


def changing(number, *, after):
    """A server whose model is replaced after so many requests."""
    letter = "A" if number <= after else "B"
    return completion(f"[[{letter}]]")


@pytest.fixture
def slow(llm, engine):
    """A judge that is asked one question at a time."""
    return make_judge(name="slow", base_url=llm.url, concurrency=1)


def test_anchors_are_asked_first_and_last_with_the_same_request(slow, llm):
    study = study_of(8)

    run = judge_all(study, slow, anchors=3)

    assert (run.state, run.sentence) == ("done", "8 of 8 answered.")
    bodies = [json.dumps([body["messages"], body["seed"]]) for body in llm.requests]
    assert len(bodies) == 8 + 3 + 3
    repeated = sorted(body for body, n in Counter(bodies).items() if n == 3)
    assert sorted(bodies[:3]) == sorted(bodies[-3:]) == repeated
    assert len(set(bodies[3:11])) == 8
    first = anchors(run, "end").order_by("answered_at").first()
    assert first.answered_at >= run.judgments.order_by("answered_at").last().answered_at


def test_anchors_count_nowhere_but_in_the_cost(judge, llm):
    study = study_of(6)
    run = judge_all(study, judge, anchors=4, orders="both")

    assert run_progress(run).total == run.judgments.count() == 12
    assert sum(item.judgments.count() for item in Item.objects.filter(study=study)) == 12
    assert len(list(judgment_rows(study))) == 12
    (data,) = load_dataset(study.slug).runs
    assert data.judgments.item.size == 12
    assert data.cost.requests == run_cost(run).attempts == len(llm.requests) == 20
    other = judge_all(study, make_judge(name="again", base_url=judge.base_url), reuse=True)
    assert other.judgments.exclude(reused_from=None).count() == 6
    assert not Judgment.everything.filter(reused_from__in=anchors(run)).exists()


def test_few_items_are_all_anchors_and_another_number_is_another_run(judge):
    study = study_of(2)

    run = judge_all(study, judge, anchors=5)

    assert anchors(run).count() == 4
    assert start(study, judge, anchors=5).pk == run.pk
    assert anchors(run).count() == 4
    assert start(study, judge, anchors=2).pk != run.pk


def test_a_model_that_changes_during_the_run_is_counted(slow, llm):
    study = study_of(10)
    llm.answer = lambda body, n: changing(n, after=12)

    run = judge_all(study, slow, anchors=10)

    found = anchors_of([run])[run.pk]
    assert (found.anchors, found.compared, found.changed) == (10, 10, 10)
    assert found.change.interval == pytest.approx((0.692, 1.0), abs=5e-4)
    assert found.is_suspicious


def test_a_killed_worker_asks_no_answered_anchor_twice(judge, llm):
    """Two start anchors are leased by a worker that is killed; the run goes on elsewhere."""
    study = study_of(5)
    run = start(study, judge, anchors=3)
    for when in ("start", "end"):
        held = anchors(run, when).order_by("pk")[:2].values("pk")
        Judgment.everything.filter(pk__in=list(held.values_list("pk", flat=True))).update(
            state="leased", lease="killed", leased_until=timezone.now() - timedelta(seconds=1)
        )
    JudgeRun.objects.filter(pk=run.pk).update(state="running")

    assert called_by(tasks.recover_runs)

    assert not Judgment.everything.filter(run=run, state="leased").exists()
    work_off(run_id=run.pk)
    work_off(run_id=run.pk)
    run.refresh_from_db()
    assert run.state == "done"
    assert len(llm.requests) == 5 + 6
    assert {a.state for a in anchors(run)} == {"done"}


def test_an_extended_run_asks_the_end_again(judge, llm):
    study = study_of(6)
    run = judge_all(study, judge, anchors=2, limit=3)
    assert len(llm.requests) == 3 + 4

    more = judge_all(study, judge, anchors=2)

    assert more.pk == run.pk
    assert len(llm.requests) == 6 + 4 + 2
    ends = anchors(run, "end").values_list("sample", flat=True)
    assert Counter(ends) == {1: 2, 2: 2}
    assert create_anchors(run, asks_more=False) == 0


def test_failed_anchors_are_asked_again_a_start_only_while_it_is_one(judge, llm):
    study = study_of(3)
    run = judge_all(study, judge, anchors=2)
    anchors(run).update(state="error", choice="", certainty=None, error="no")

    assert retry_failed(run_id=run.pk)

    assert set(anchors(run).values_list("anchor", "state")) == {
        ("start", "error"),
        ("end", "pending"),
    }


def test_an_outage_at_the_start_leaves_both_to_be_asked(judge, llm):
    study = study_of(3)
    llm.answer = lambda body, n: error(401, "no key")
    run = judge_all(study, judge, anchors=2)
    assert run.state == "stopped_outage"
    llm.answer = lambda body, n: completion("[[A]]")

    run = judge_all(study, judge, anchors=2)

    assert run.state == "done"
    assert set(anchors(run).values_list("state", flat=True)) == {"done"}


def test_a_cost_estimate_includes_anchors(judge):
    study = study_of(7)

    def estimate(**options):
        spec = RunSpec(study_id=study.pk, judge_id=judge.pk, **options)
        return estimate_run(run_for(study, judge, spec), spec).questions

    assert estimate() == 7
    assert estimate(anchors=3) == 13
    assert estimate(anchors=30) == 21
    assert estimate(anchors=3, limit=2) == 6
    judge_all(study, judge, anchors=3, limit=5)
    assert estimate(anchors=3, limit=5) == 0
    assert estimate(anchors=3) == 2 + 3


def test_the_number_of_anchors_has_limits(judge):
    with pytest.raises(InvalidValue, match="anchors must be from 0 to 1000, not -1"):
        RunSpec(study_id=1, judge_id=1, anchors=-1).check(judge)


def test_samples_of_other_items_say_what_chance_explains(judge, llm):
    study = study_of(12)
    letters = iter("AB" * 100)
    llm.answer = lambda body, n: completion(f"[[{next(letters)}]]")
    run = judge_all(study, judge, anchors=4, samples=2, orders="r1_first")

    found = anchors_of([run])[run.pk]

    chosen = set(anchors(run).values_list("item", flat=True))
    others: dict[int, set[str]] = {}
    for item, choice in run.judgments.exclude(item__in=chosen).values_list("item", "choice"):
        others.setdefault(item, set()).add(choice)
    assert (found.pairs, found.differ) == (8, sum(len(each) == 2 for each in others.values()))
    assert "Two samples of the same question differ on" in " ".join(found.sentences)


# The arithmetic.


@pytest.mark.parametrize(("count", "n"), [(0, 5), (5, 5), (3, 20), (1, 1), (137, 900)])
def test_the_interval_is_that_of_clopper_and_pearson(count, n):
    expected = binomtest(count, n).proportion_ci(0.95, method="exact")

    assert Share(count, n).interval == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_a_share_of_nothing_is_undefined():
    assert Share(0, 0).value is None
    assert Share(0, 0).interval is None
    assert comparison(compared=0, changed=0).p_value is None
    assert comparison(pairs=0, differ=0).expected is None


@pytest.mark.parametrize(
    ("changed", "n", "differ", "pairs"),
    [(3, 20, 12, 80), (0, 20, 12, 80), (9, 20, 5, 280), (20, 20, 0, 30), (0, 5, 0, 5)],
)
def test_the_chance_is_that_of_fishers_exact_test(changed, n, differ, pairs):
    table = [[changed, n - changed], [differ, pairs - differ]]

    assert chance_of_as_many(Share(changed, n), Share(differ, pairs)) == pytest.approx(
        fisher_exact(table, alternative="greater").pvalue, abs=1e-12
    )


def test_sampling_alone_gives_at_most_the_nominal_false_alarms_and_a_change_is_found():
    """Items differ in how often a judge contradicts itself; anchors are drawn among them."""
    rng = np.random.default_rng(5)

    def alarms(changes):
        alarms = 0
        for _ in range(800):
            wobble = rng.beta(0.5, 2, size=220)
            twice = rng.random(220) < wobble
            twice[:20] |= rng.random(20) < changes
            change = Share(int(twice[:20].sum()), 20)
            alarms += chance_of_as_many(change, Share(int(twice[20:].sum()), 200)) < 0.05
        return alarms / 800

    assert alarms(0.0) <= 0.05 + 3 * (0.05 * 0.95 / 800) ** 0.5
    assert alarms(0.5) > 0.9


def comparison(**fields):
    defaults = {
        "anchors": 20,
        "asked_at_start": 20,
        "asked_at_end": 20,
        "compared": 20,
        "changed": 3,
        "pairs": 80,
        "differ": 12,
        "certainty_shift": None,
        "is_random": True,
    }
    return AnchorComparison(**defaults | fields)


def test_the_sentences_state_count_interval_and_what_chance_explains():
    assert comparison().sentences == [
        "Anchors: 3 of 20 (15.0 %, 95 % interval 3.2 to 37.9 %) changed between the start and the "
        "end of the run.",
        "Two samples of the same question differ on 12 of 80 (15.0 %, 95 % interval 8.0 to 24.7 %) "
        "other items, so sampling alone would change 3.0 anchors (exact test for more changes: "
        "p = 0.618).",
    ]
    assert comparison(compared=18).sentences[1] == "2 could not be compared."
    assert "none can be compared yet" in comparison(compared=0, changed=0).sentences[0]
    assert len(comparison(pairs=0, differ=0, is_random=False).sentences) == 1
    assert not comparison().is_suspicious
    assert not comparison(changed=0, pairs=0, differ=0).is_suspicious
    assert comparison(pairs=0, differ=0).is_suspicious
