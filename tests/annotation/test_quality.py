"""Advisory flags: each is raised by what it names, and by nothing a careful person does."""

import random
from typing import Any

import pytest
from django.utils import timezone
from scipy.stats import binom, chi2

from annotation import services
from annotation.agreement import at_most
from annotation.models import Annotation, Annotator, Assignment
from annotation.quality import (
    LEAST_SPREAD_OF_TIMES,
    least_spread,
    quality_of,
)
from studies.models import Study
from tests.factories import answer_item, make_item, make_items, make_study, walk_in

pytestmark = pytest.mark.django_db

SECONDS = 30_000


@pytest.fixture
def study() -> Study:
    study = make_study(items_per_annotator=12, annotations_per_item=9)
    make_items(study, 12, question="w " * 100, r1={"text": "w " * 100}, r2={"text": "w " * 100})
    return study


# A careful person's times differ from item to item; these are multiples of the typical one.
PACE = (0.6, 1.0, 1.7, 0.8, 1.2, 0.5, 1.0, 1.4, 0.9, 2.1, 0.7, 1.1)


def work(study, *, choice=None, certainty=None, milliseconds=SECONDS, active=SECONDS) -> Annotator:
    """Answer everything; by default careful, alternating sides and varied certainties.

    Both clocks run with the pace of the item.
    """
    annotator = walk_in(study)
    for number, assignment in enumerate(annotator.assignments.order_by("position")):
        displayed = "ab"[number % 2] if choice is None else choice
        answer_item(
            assignment,
            choice=assignment.as_content(displayed),
            certainty=20 + 5 * number if certainty is None else certainty,
        )
    set_times(annotator, [(milliseconds, active)] * 12, PACE)
    return annotator


def set_times(annotator, times, pace=(1.0,) * 60) -> None:
    """Give the answers these elapsed and active times, in order."""
    own = Annotation.objects.filter(assignment__annotator=annotator).order_by(
        "assignment__position"
    )
    for answer, (elapsed, active), factor in zip(own, times, pace, strict=False):
        answer.elapsed_ms = None if elapsed is None else round(elapsed * factor)
        answer.active_ms = None if active is None else round(active * factor)
        answer.save(update_fields=["elapsed_ms", "active_ms"])


def agree(study: Study) -> None:
    """Let everybody have chosen the same response of each item."""
    Annotation.objects.filter(assignment__annotator__study=study).update(choice="r1")


def flags(study, annotator) -> dict[str, tuple[float, float]]:
    return {
        flag.rule: (flag.value, flag.threshold) for flag in quality_of(study)[annotator.pk].flags
    }


def test_a_careful_person_has_no_flag(study):
    annotator = work(study)

    quality = quality_of(study)[annotator.pk]

    assert quality.flags == ()
    assert (quality.answers, quality.share_a) == (12, 0.5)
    assert quality.words_per_minute == pytest.approx(300 / 0.5)
    assert (quality.median_elapsed_seconds, quality.median_active_seconds) == (30, 30)
    assert (quality.agreement, quality.compared) == (None, 0)


@pytest.mark.parametrize(
    ("habit", "flag"),
    [
        ({"milliseconds": 10_000, "active": 10_000}, {"speed": (1800, 1500)}),
        ({"choice": "b"}, {"one_sided": (0.0, 0.001)}),
        ({"certainty": 80}, {"flat_certainty": (0, 3)}),
    ],
)
def test_a_habit_is_flagged_with_its_figure_and_threshold(study, habit, flag):
    assert flags(study, work(study, **habit)) == flag


@pytest.mark.parametrize(("elapsed", "active"), [(30_000, 2_000), (2_000, 30_000)])
def test_the_slower_clock_decides(study, elapsed, active):
    annotator = work(study, milliseconds=elapsed, active=active)

    assert "speed" not in flags(study, annotator)


def test_without_any_clock_there_is_no_pace(study):
    annotator = work(study, milliseconds=None, active=None)

    quality = quality_of(study)[annotator.pk]
    assert (quality.words_per_minute, quality.spread_of_times, quality.flags) == (None, None, ())


def test_ties_have_no_side(study):
    Study.objects.update(allow_tie=True)
    annotator = work(study, choice="tie")

    assert quality_of(study)[annotator.pk].share_a is None
    assert flags(study, annotator) == {}


def test_a_failed_check_is_flagged_and_counts_in_no_other_figure(study):
    for n in range(2):
        make_item(study=study, split="attention_check", check_answer=("r1", "r2")[n])
    annotator = work(study)
    checks = Annotation.objects.filter(standing="check")
    checks.update(choice="r1", elapsed_ms=1)

    quality = quality_of(study)[annotator.pk]

    assert (quality.answers, quality.checks_seen, quality.checks_failed) == (12, 2, 1)
    assert flags(study, annotator) == {"failed_checks": (1, 1)}


def test_only_the_person_who_contradicts_everybody_is_flagged(study):
    crowd = [work(study) for _ in range(3)]
    agree(study)
    contrary = work(study)
    Annotation.objects.filter(assignment__annotator=contrary).update(choice="r2")

    found = quality_of(study)

    assert found[contrary.pk].agreement == 0
    assert "disagreement" in found[contrary.pk].rules
    assert all("disagreement" not in found[a.pk].rules for a in crowd)
    # Each of the three agrees with two and not with the fourth.
    assert found[crowd[0].pk].agreement == pytest.approx(2 / 3)
    assert flags(study, contrary)["disagreement"] == pytest.approx((1, 1 / 4))


def test_excluded_people_are_not_used_for_comparison(study):
    crowd = [work(study) for _ in range(3)]
    agree(study)
    Annotation.objects.filter(assignment__annotator=crowd[0]).update(choice="r2")
    services.exclude(annotator_id=crowd[0].pk, reason="speed")

    found = quality_of(study)

    assert found[crowd[1].pk].agreement == 1
    assert found[crowd[0].pk].agreement == 0


def test_few_answers_raise_no_flag():
    study = make_study(items_per_annotator=9)
    make_items(study, 9)
    annotator = work(study, choice="a", certainty=50, milliseconds=1, active=None)

    assert flags(study, annotator) == {}


def test_withdrawn_answers_are_ignored(study):
    annotator = work(study, choice="a")
    services.withdraw(annotator_id=annotator.pk)

    assert annotator.pk not in quality_of(study)


def test_figures_cost_four_queries_however_many_people(study, django_assert_num_queries):
    for _ in range(4):
        work(study)

    with django_assert_num_queries(4):
        quality_of(study)


@pytest.mark.parametrize(("successes", "trials", "p"), [(0, 30, 0.5), (7, 30, 0.5), (20, 60, 0.6)])
def test_the_binomial_tail_equals_scipys(successes, trials, p):
    assert at_most(successes, trials, p) == pytest.approx(binom.cdf(successes, trials, p))


# Simulated people and machines, eight of each: they differ in skill, speed and habits.

N_ITEMS = 30
# Rules about what somebody chose, not how.
CHOSEN = {"disagreement", "one_sided"}


def person(rng, *, pace=None, certainties=None, away=0.08):
    """Times and certainties of an honest person, whose pace varies from item to item.

    Now and then the page is hidden for a while, and long pauses without a movement stop the
    browser's clock.
    """
    pace = pace or rng.lognormvariate(5.5, 0.35)
    spread = rng.uniform(0.3, 0.6)
    centre, width = rng.uniform(45, 85), rng.uniform(6, 20)
    times, stated = [], []
    for _ in range(N_ITEMS):
        active = 300 / pace * 60_000 * rng.lognormvariate(0, spread)
        hidden = rng.uniform(5_000, 90_000) if rng.random() < away else rng.uniform(200, 1_500)
        quiet = max(0.0, active - 60_000) * rng.uniform(0, 0.5)
        times.append((round(active + hidden), round(active - quiet)))
        drawn = min(100, max(1, round(rng.gauss(centre, width))))
        stated.append(rng.choice(certainties) if certainties else drawn)
    return times, stated


def machine(rng, kind):
    """Times and certainties of somebody who does not read: see the names."""
    times = []
    for _ in range(N_ITEMS):
        elapsed = round(rng.uniform(9_000, 13_000))
        active = {
            "agent": elapsed,
            "paster": round(rng.uniform(4_000, 9_000)),
            "bot": None,
            "clicker": elapsed,
        }[kind]
        if kind == "paster":
            elapsed = active + round(rng.uniform(14_000, 26_000))
        if kind == "clicker":
            elapsed = active = round(rng.lognormvariate(7.6, 0.4))
        times.append((elapsed, active))
    return times, [min(100, max(1, round(rng.gauss(78, 9)))) for _ in range(N_ITEMS)]


HONEST: dict[str, dict[str, Any]] = {
    "usual": {},
    "fast": {"pace": (650, 1000)},
    "slow": {"pace": (90, 140)},
    "two values": {"certainties": [80, 85]},
    "five values": {"certainties": [20, 40, 60, 80, 100]},
    "often away": {"away": 0.25},
}
MACHINES = {
    "agent": "even_times",
    "paster": "page_hidden",
    "bot": "no_active_time",
    "clicker": "speed",
}


def test_machines_are_flagged_and_honest_people_are_not(study):
    crowd = make_crowd(study)
    honest, machines = {}, {}

    for kind, options in HONEST.items():
        own = dict(options)
        low, high = own.pop("pace", (None, None))
        honest[kind] = crowd(
            lambda rng, number, own=own, low=low, high=high: person(
                rng, pace=low and low + (high - low) * number / 7, **own
            )
        )
    for kind, rule in MACHINES.items():
        found = crowd(lambda rng, _, kind=kind: machine(rng, kind))
        machines[kind] = sum(rule in rules for rules in found)

    assert honest == dict.fromkeys(HONEST, [()] * 8)
    assert machines == dict.fromkeys(MACHINES, 8)


def make_crowd(study):
    """Eight people who choose by their skill; returns a function that draws times and certainties.

    That function gives the flags of each. Dissent and sides are left out: they are about what they
    chose, and sides are drawn anew each time.
    """
    Study.objects.filter(pk=study.pk).update(items_per_annotator=N_ITEMS, annotations_per_item=9)
    make_items(study, 18, question="w " * 100, r1={"text": "w " * 100}, r2={"text": "w " * 100})
    rng = random.Random(20)
    people = [walk_in(Study.objects.get(pk=study.pk)).pk for _ in range(8)]
    answers = []
    for annotator in people:
        skill = rng.uniform(0.6, 0.85)
        answers += [
            Annotation(
                assignment=assignment,
                choice="r1" if rng.random() < skill else "r2",
                certainty=50,
                certainty_asked=True,
                standing="counted",
                answered_at=timezone.now(),
            )
            for assignment in Assignment.objects.filter(annotator=annotator)
        ]
    answers = Annotation.objects.bulk_create(answers)

    def flags_of(draw):
        for number in range(8):
            own = answers[number * N_ITEMS : (number + 1) * N_ITEMS]
            times, stated = draw(rng, number)
            for answer, (elapsed, active), certainty in zip(own, times, stated, strict=True):
                answer.elapsed_ms, answer.active_ms, answer.certainty = elapsed, active, certainty
        Annotation.objects.bulk_update(answers, ["elapsed_ms", "active_ms", "certainty"])
        found = quality_of(study)
        return [tuple(rule for rule in found[pk].rules if rule not in CHOSEN) for pk in people]

    return flags_of


@pytest.mark.parametrize("answers", [10, 12, 20, 30, 100])
def test_at_most_one_in_a_thousand_people_with_the_least_spread_is_flagged(answers):
    allowed = chi2.ppf(0.001, answers - 1)

    chance = (least_spread(answers) / LEAST_SPREAD_OF_TIMES) ** 2 * (answers - 1)

    assert chance <= allowed
    assert chance == pytest.approx(allowed, rel=0.15)
