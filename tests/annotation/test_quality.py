"""Advisory flags: each is raised by what it names, and by nothing a careful person does."""

import pytest
from scipy.stats import binom

from annotation import services
from annotation.models import Annotation, Annotator
from annotation.quality.flags import RULES, at_most, quality_of
from studies.models import Study
from tests.factories import make_item, make_items, make_study, walk_in

pytestmark = pytest.mark.django_db

SECONDS = 30_000


@pytest.fixture
def study() -> Study:
    study = make_study(items_per_annotator=12, annotations_per_item=9)
    make_items(study, 12, question="w " * 100, r1={"text": "w " * 100}, r2={"text": "w " * 100})
    return study


def work(study, *, choice=None, certainty=None, milliseconds=SECONDS, active=None) -> Annotator:
    """Answer everything; by default careful, alternating sides and varied certainties."""
    annotator = walk_in(study)
    for number, assignment in enumerate(annotator.assignments.order_by("position")):
        displayed = "ab"[number % 2] if choice is None else choice
        services.record_answer(
            annotator_id=annotator.pk,
            assignment_id=assignment.pk,
            choice=assignment.as_content(displayed),
            certainty=20 + 5 * number if certainty is None else certainty,
        )
    Annotation.objects.filter(assignment__annotator=annotator).update(
        elapsed_ms=milliseconds, active_ms=active
    )
    return annotator


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
    assert (quality.median_elapsed_seconds, quality.median_active_seconds) == (30, None)
    assert (quality.agreement, quality.compared) == (None, 0)


def test_who_answers_faster_than_anybody_reads_is_flagged_with_pace_and_threshold(study):
    annotator = work(study, milliseconds=10_000)

    assert flags(study, annotator) == {"speed": (1800, 700)}


@pytest.mark.parametrize(("elapsed", "active"), [(30_000, 2_000), (2_000, 30_000)])
def test_the_slower_clock_decides(study, elapsed, active):
    annotator = work(study, milliseconds=elapsed, active=active)

    assert flags(study, annotator) == {}


def test_without_any_clock_there_is_no_pace(study):
    annotator = work(study, milliseconds=None)

    assert quality_of(study)[annotator.pk].words_per_minute is None


def test_one_side_all_the_time_is_flagged(study):
    annotator = work(study, choice="b")

    assert flags(study, annotator) == {"one_sided": (0.0, 0.001)}


def test_ties_are_no_side(study):
    Study.objects.update(allow_tie=True)
    annotator = work(study, choice="tie")

    assert quality_of(study)[annotator.pk].share_a is None
    assert flags(study, annotator) == {}


def test_the_same_certainty_all_the_time_is_flagged(study):
    annotator = work(study, certainty=80)

    assert flags(study, annotator) == {"flat_certainty": (0, 3)}


def test_a_failed_check_is_flagged_and_counts_in_no_other_figure(study):
    for n in range(2):
        make_item(study=study, split="attention_check", check_answer=("r1", "r2")[n])
    annotator = work(study)
    checks = Annotation.objects.filter(standing="check")
    checks.update(choice="r1", elapsed_ms=1)

    quality = quality_of(study)[annotator.pk]

    assert (quality.answers, quality.checks_seen, quality.checks_failed) == (12, 2, 1)
    assert flags(study, annotator) == {"failed_checks": (1, 1)}


def test_who_alone_says_the_opposite_is_flagged_and_the_others_are_not(study):
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


def test_excluded_people_are_nobodys_measure(study):
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
    annotator = work(study, choice="a", certainty=50, milliseconds=1)

    assert flags(study, annotator) == {}


def test_withdrawn_answers_are_not_looked_at(study):
    annotator = work(study, choice="a")
    services.withdraw(annotator_id=annotator.pk)

    assert annotator.pk not in quality_of(study)


def test_every_rule_has_words(study):
    annotator = work(study, choice="a", certainty=50, milliseconds=1)

    found = quality_of(study)[annotator.pk].flags

    assert {flag.label for flag in found} <= set(RULES.values())
    assert all(str(flag).endswith(".") and flag.caution.endswith(".") for flag in found)
    assert len(found) == 3


def test_figures_cost_three_queries_however_many_people(study, django_assert_num_queries):
    for _ in range(4):
        work(study)

    with django_assert_num_queries(3):
        quality_of(study)


@pytest.mark.parametrize(("successes", "trials", "p"), [(0, 30, 0.5), (7, 30, 0.5), (20, 60, 0.6)])
def test_the_binomial_tail_is_the_one_of_scipy(successes, trials, p):
    assert at_most(successes, trials, p) == pytest.approx(binom.cdf(successes, trials, p))
