"""Annotators beside the judges: who errs as a judge does is named, with advice and nothing more."""

import random
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from annotation import services
from annotation.machine_signs import MachineSign
from annotation.models import Annotation
from annotation.quality import quality_of
from extras.likeness.annotators import compare_queued, likenesses
from extras.likeness.models import ErrorComparison
from extras.likeness.views import error_comparison_for
from studies.models import Membership, Study
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def stored(module_db) -> int:
    """The id of a study: sixty items, three people and a judge who guess, and one who copies."""
    rng = random.Random(4)
    study = make_study()
    persona = make_persona(study=study)
    people = [make_rater(study=study, pseudonym=f"P-{n}") for n in range(3)]
    copier = make_rater(study=study, pseudonym="P-copier")
    runs = [make_run(study=study, judge=name, features="all") for name in ("steady", "other")]
    make_run(study=study, judge="steady", features="age")
    with stored_at_once():
        for _ in range(60):
            item = make_item(study=study, persona=persona, question="w " * 250)
            said = [rng.choice(["r1", "r2"]) for _ in runs]
            for run, choice in zip(runs, said, strict=True):
                judge_item(run, item, choice, 70)
            for person in people:
                answer(person, item, rng.choice(["r1", "r2"]))
            answer(copier, item, said[0])
    return study.pk


@pytest.fixture
def study(db, stored) -> Study:
    return Study.objects.get(pk=stored)


def test_who_copies_a_judge_stands_out_and_nobody_else_does(study):
    first, *others = likenesses(study.slug)

    assert (first.rater, first.stands_out, first.closest.judge) == ("P-copier", True, "steady")
    assert first.closest.errors.n_both_wrong == first.closest.errors.n_judge_wrong
    assert first.probability == pytest.approx(2 * first.closest.errors.probability)
    assert [one.stands_out for one in others] == [False] * 3
    assert all(len(one.judges) == 2 for one in others)


def test_the_pace_is_that_of_the_annotators_own_page(study):
    Annotation.objects.update(active_ms=20_000, elapsed_ms=30_000)

    # 250 words of question and 6 of responses, by the slower clock.
    assert likenesses(study.slug)[0].words_per_minute == pytest.approx(256 / 0.5)


def test_excluded_people_are_nobodys_measure_and_still_shown(study):
    services.exclude(annotator_id=study.annotators.get(pseudonym="P-copier").pk, reason="asked")
    before = {one.rater: one for one in likenesses(study.slug)}
    Annotation.objects.filter(assignment__annotator__pseudonym="P-copier").update(choice="r1")
    after = {one.rater: one for one in likenesses(study.slug)}

    assert before["P-copier"].stands_out
    assert not before["P-copier"].is_counted
    assert all(before[f"P-{n}"] == after[f"P-{n}"] for n in range(3))


def test_withdrawn_answers_are_ignored(study):
    Annotation.objects.filter(assignment__annotator__pseudonym="P-copier").update(
        standing="withdrawn"
    )

    assert {one.rater for one in likenesses(study.slug)} == {"P-0", "P-1", "P-2"}


def test_without_judges_there_is_nothing_to_compare():
    empty = make_study()
    rater = make_rater(study=empty)
    answer(rater, make_item(study=empty), "r1")

    (one,) = likenesses(empty.slug)

    assert (one.closest, one.probability, one.stands_out) == (None, None, False)


@pytest.fixture
def viewer(client, study) -> User:
    user = User.objects.create_user("viewer")
    Membership.objects.create(user=user, study=study, role="viewer")
    client.force_login(user)
    return user


@pytest.fixture
def compared(study) -> ErrorComparison:
    """The comparison of the study, after a worker has made it."""
    return compare_queued(comparison_id=error_comparison_for(study).pk)


def test_before_a_worker_has_compared_the_pages_say_so(client, viewer, study):
    address = f"/studies/{study.slug}/reports"
    page = client.get(f"{address}/annotators/").content.decode()
    panel = client.get(f"{address}/annotator/", {"rater": "P-0"}).content.decode()
    state = client.get(f"{address}/annotators/status/").json()

    assert "Waiting for a worker." in page
    assert "No answers yet" not in page
    assert "Open this page again in a moment." in panel
    assert state == {"progress": 0, "message": "Waiting for a worker.", "open": True}


@pytest.mark.nightly
def test_a_comparison_is_made_again_when_it_is_old_and_kept_while_nothing_changed(study, compared):
    assert error_comparison_for(study).state == "done"
    ErrorComparison.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=2))
    again = error_comparison_for(study)
    assert again.state == "queued"
    assert again.annotators == compared.annotators

    assert compare_queued(comparison_id=again.pk).annotators == compared.annotators

    Annotation.objects.filter(assignment__annotator__pseudonym="P-copier").update(
        standing="withdrawn"
    )
    ErrorComparison.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=2))
    changed = compare_queued(comparison_id=error_comparison_for(study).pk)
    assert {one["rater"] for one in changed.annotators} == {"P-0", "P-1", "P-2"}


def test_the_list_names_those_who_stand_out_and_states_the_rate_of_false_flags(
    client, viewer, study, compared
):
    page = client.get(f"/studies/{study.slug}/reports/annotators/").content.decode()

    assert "4 annotators, 1 flagged" in page
    assert page.index("P-copier") < page.index("P-0")
    assert "at most 1 of 1,000 careful annotators" in page
    assert "It has no automatic consequences." in page


def test_who_stands_out_has_a_sign_of_a_program_that_flags_nobody_alone(study, compared):
    found = {
        annotator.pseudonym: quality_of(study)[annotator.pk] for annotator in study.annotators.all()
    }

    like_judge = {name for name, one in found.items() if MachineSign("judge") in one.signs}
    assert like_judge == {"P-copier"} == set(compared.striking)
    assert "machine" not in found["P-copier"].rules
    Study.objects.update(machine_signs="off")
    study.refresh_from_db()
    assert {one.signs for one in quality_of(study).values()} == {None}


def test_the_panel_of_one_annotator_shows_every_judge(client, viewer, study, compared):
    address = f"/studies/{study.slug}/reports/annotator/"
    page = client.get(address, {"rater": "P-copier"}).content.decode()
    other = client.get(address, {"rater": "P-0"}).content.decode()

    assert "Makes the same errors as steady" in page
    assert page.count('<th scope="row">') == 2
    assert "no more similar to a judge’s" in other.replace("'", "’")
    assert "<html" not in page


@pytest.mark.parametrize("page", ["annotators/", "annotators/status/", "annotator/?rater=P-0"])
def test_others_do_not_learn_that_it_exists(client, study, page):
    client.force_login(User.objects.create_user("stranger"))

    assert client.get(f"/studies/{study.slug}/reports/{page}").status_code == 404
