"""An item that somebody does not want to judge: skipped as such, its seat given back, no loss."""

import pytest

from annotation import services
from annotation.errors import WrongStep
from annotation.models import Annotation, Annotator, Assignment
from annotation.seats.quotas import Quota, QuotaQuestion, set_quotas
from tests.annotation.pages.walking import answer_all, post_answer, start, token_of
from tests.factories import answer_item, make_items, make_study, walk_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = make_study(items_per_annotator=2)
    make_items(study, 2, warnings=["violence", "death of a child"])
    return study


def skip(client, page):
    """Press “Skip this item” on an item page."""
    url = page.request["PATH_INFO"] + "skip/"
    return client.post(url, {"assignment": token_of(page)})


def test_a_warning_comes_before_the_item_with_a_way_past_it(study):
    client = start(study)

    page = client.get(f"/s/{study.slug}/task/1/").content.decode()
    study.all_items.update(warnings=[])
    without = client.get(f"/s/{study.slug}/task/1/").content.decode()

    assert "violence, death of a child" in page
    assert page.index("Skip this item") < page.index('<details class="sensitive"')
    assert page.index('<details class="sensitive"') < page.index("About the person")
    assert "data-sensitive open" not in page
    assert '<details class="sensitive"' not in without


def test_a_skipped_item_is_stored_as_skipped_and_its_seat_comes_back(study):
    client = start(study)
    page = client.get(f"/s/{study.slug}/task/1/")
    skipped = Assignment.objects.get(position=1)
    assert skipped.item.seats_taken == 1

    response = skip(client, page)

    assert (response.status_code, response["Location"]) == (303, f"/s/{study.slug}/task/2/")
    skipped.refresh_from_db()
    skipped.item.refresh_from_db()
    assert (skipped.state, skipped.item.seats_taken) == ("skipped", 0)
    assert not Annotation.objects.exists()


def test_skipping_twice_gives_the_seat_back_once(study):
    client = start(study)
    other = walk_in(study)
    page = client.get(f"/s/{study.slug}/task/1/")

    skip(client, page)
    skip(client, page)

    item = Assignment.objects.get(
        annotator__prolific_identity__pid__startswith="5f", position=1
    ).item
    assert item.seats_taken == 1
    assert other.assignments.filter(item=item, state="reserved").exists()


def test_skipping_everything_completes_the_study(study):
    client = start(study)
    for position in (1, 2):
        skip(client, client.get(f"/s/{study.slug}/task/{position}/"))

    feedback = client.get(f"/s/{study.slug}/task/", follow=True)
    done = client.post(f"/s/{study.slug}/feedback/", {"comments": ""}, follow=True)

    assert feedback.redirect_chain[-1][0] == f"/s/{study.slug}/feedback/"
    assert Annotator.objects.get().state == "completed"
    assert "Return to Prolific and register completion" in done.content.decode()


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(("skips", "kept"), [(4, 0), (3, 0), (2, 1)])
def test_skipping_most_items_frees_the_quota_place(skips, kept):
    study = make_study(items_per_annotator=4, entry="prolific")
    make_items(study, 4)
    options = {"woman": "Woman", "man": "Man"}
    set_quotas(
        study_id=study.pk,
        questions=[QuotaQuestion("gender", "Gender?", options)],
        groups=[Quota(1, {"gender": "woman"})],
    )
    annotator = walk_in(study, gender="woman")
    for assignment in annotator.assignments.order_by("position")[:skips]:
        services.skip_item(annotator_id=annotator.pk, assignment_id=assignment.pk)
    for assignment in annotator.assignments.exclude(state="skipped"):
        answer_item(assignment)

    done = services.complete(annotator_id=annotator.pk)

    assert done.state == "completed"
    group = study.quota_groups.get()
    assert (group.reserved, group.completed) == (0, kept)
    assert walk_in(study, gender="woman").works_surplus is bool(kept)
    assert Annotation.objects.filter(standing="counted").count() == 4 - skips


def test_a_skipped_item_may_be_answered_after_all_without_taking_a_seat_again(study):
    client = start(study)
    skip(client, client.get(f"/s/{study.slug}/task/1/"))

    page = client.get(f"/s/{study.slug}/task/1/")
    assert "You skipped this item" in page.content.decode()
    post_answer(client, page)

    annotation = Annotation.objects.get()
    annotation.assignment.item.refresh_from_db()
    assert annotation.standing == "surplus"
    assert annotation.assignment.item.seats_taken == 0
    assert annotation.assignment.item.answered == 0


def test_an_answer_stays_when_somebody_then_skips_the_item(study):
    client = start(study)
    page = client.get(f"/s/{study.slug}/task/1/")
    post_answer(client, page)

    response = skip(client, page)

    assert response.status_code == 303
    assert Annotation.objects.get().standing == "counted"
    with pytest.raises(WrongStep):
        services.skip_item(
            annotator_id=Annotator.objects.get().pk,
            assignment_id=Assignment.objects.get(position=1).pk,
        )
    assert "Skip this item" not in client.get(f"/s/{study.slug}/task/1/").content.decode()


def test_nobody_skips_somebody_elses_item(study):
    client = start(study)
    mine = client.get(f"/s/{study.slug}/task/1/")
    stranger = start(study, "somebody-else", client=None)

    response = stranger.post(f"/s/{study.slug}/task/1/skip/", {"assignment": token_of(mine)})

    assert response.status_code == 404
    assert not Assignment.objects.filter(state="skipped").exists()


def test_a_skipped_item_stays_skipped_through_a_time_out(study):
    client = start(study)
    skip(client, client.get(f"/s/{study.slug}/task/1/"))
    services.time_out(annotator_id=Annotator.objects.get().pk)
    client.post(f"/s/{study.slug}/done/")

    answer_all(client, study)

    assert Assignment.objects.get(position=1).state == "skipped"
    assert Annotation.objects.count() == 1
