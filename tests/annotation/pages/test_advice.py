"""An item with advice is answered twice: before and after the advice is shown."""

import re

import pytest
from django.db import IntegrityError, transaction

from annotation import services
from annotation.files.answers_out import annotation_rows
from annotation.models import Annotation, AnnotationRevision, Annotator, Assignment, InitialAnswer
from annotation.participants.item_views import ITEM
from annotation.quality import quality_of
from studies.models import Item, Study
from tests.annotation.pages.walking import item_page, post_answer, start, token_of
from tests.factories import make_item, make_study, sign_in

pytestmark = pytest.mark.django_db

DEBATE = {
    "kind": "debate",
    "title": "What <two> debaters said",
    "text": "One: the first. & Two: {{ no }}",
    "favors": "r2",
}


@pytest.fixture
def study() -> Study:
    study = make_study(items_per_annotator=2)
    for n in range(2):
        make_item(study=study, advice=DEBATE, fixed_first="r1", shuffle_sides=False, key=f"i{n}")
    return study


@pytest.fixture
def client(study):
    return start(study)


def text_of(page) -> str:
    return page.content.decode()


def test_the_advice_comes_after_the_first_answer_and_may_change_it(client, study):
    page = item_page(client, study)
    assert "debaters" not in text_of(page)
    assert "after_advice" not in text_of(page)

    again = client.get(post_answer(client, page, choice="a", certainty="60")["Location"])

    assert "What &lt;two&gt; debaters said" in text_of(again)
    assert "One: the first. &amp; Two: {{ no }}" in text_of(again)
    assert "You selected response A." in text_of(again)
    assert "Your certainty was 60." in text_of(again)
    assert re.search(r'value="a" id="choice-a"[^>]* checked', text_of(again))
    assert not Annotation.objects.exists()
    assert Item.objects.get(key="i0").answered == 0

    following = post_answer(client, again, choice="b", certainty="80", after_advice="yes")

    assert following["Location"].endswith("/task/2/")
    initial, final = InitialAnswer.objects.get(), Annotation.objects.get()
    assert (initial.choice, initial.certainty) == ("r1", 60)
    assert (final.choice, final.certainty, final.revision) == ("r2", 80, 1)
    assert initial.elapsed_ms is not None
    assert initial.assignment.item.answered == 1


def test_a_first_answer_claiming_to_follow_the_advice_still_counts_as_first(client, study):
    page = item_page(client, study)

    again = post_answer(client, page, choice="a", certainty="60", after_advice="yes")

    assert again["Location"].endswith("/task/1/")
    assert list(InitialAnswer.objects.values_list("choice", "certainty")) == [("r1", 60)]
    assert not Annotation.objects.exists()
    post_answer(client, item_page(client, study), choice="b", certainty="80", after_advice="yes")
    assert list(Annotation.objects.values_list("choice", "certainty")) == [("r2", 80)]


def test_an_answer_before_the_advice_records_a_missing_picture(client, study):
    post_answer(client, item_page(client, study), choice="a", certainty="60", media_missing="yes")
    post_answer(client, item_page(client, study), choice="a", certainty="60", after_advice="yes")

    initial, final = InitialAnswer.objects.get(), Annotation.objects.get()
    assert (initial.media_missing, final.media_missing) == (True, False)
    (row,) = annotation_rows(study)
    assert (row["initial_media_missing"], row["media_missing"]) == (True, False)
    (quality,) = quality_of(study).values()
    assert (quality.media_missing, quality.rules) == (1, ("media_missing",))
    item = f"/studies/{study.slug}/items/{row['item_id']}/"
    shown = text_of(sign_in(study).get(item))
    assert "Answered before the advice without a picture" in shown


def test_the_answer_before_the_advice_never_changes(client, study):
    page = item_page(client, study)
    post_answer(client, page, choice="a", certainty="60")

    post_answer(client, page, choice="b", certainty="90")  # the same page again, from another tab
    again = item_page(client, study)
    post_answer(client, again, choice="a", certainty="55", after_advice="yes")
    post_answer(client, page, choice="b", certainty="90")

    assert list(InitialAnswer.objects.values_list("choice", "certainty")) == [("r1", 60)]
    assert list(Annotation.objects.values_list("choice", "certainty")) == [("r1", 55)]
    assert AnnotationRevision.objects.count() == 1


def test_the_script_gets_the_same_item_with_the_advice_and_then_the_next(client, study):
    page = item_page(client, study)
    data = {"assignment": token_of(page), "choice": "a", "certainty": "60"}

    again = client.post(f"/s/{study.slug}/task/1/", data, headers={"Accept": ITEM})

    assert again.headers["Content-Location"] == f"/s/{study.slug}/task/1/"
    assert "debaters" in text_of(again)
    final = data | {"assignment": token_of(again), "after_advice": "yes"}
    following = client.post(f"/s/{study.slug}/task/1/", final, headers={"Accept": ITEM})
    assert following.headers["Content-Location"] == f"/s/{study.slug}/task/2/"
    assert "debaters" not in text_of(following)


def test_a_missing_answer_after_the_advice_shows_the_advice_again(client, study):
    post_answer(client, item_page(client, study), choice="a", certainty="60")

    refused = post_answer(
        client, item_page(client, study), choice="b", certainty="", after_advice="yes"
    )

    assert refused.status_code == 422
    assert "debaters" in text_of(refused)
    assert 'name="after_advice"' in text_of(refused)


def test_an_answer_only_before_the_advice_holds_the_seat_until_release(study):
    client = start(study)
    post_answer(client, item_page(client, study), choice="a", certainty="60")

    services.time_out(annotator_id=Annotator.objects.get().pk)

    assert {state for (state,) in Assignment.objects.values_list("state")} == {"released"}
    assert InitialAnswer.objects.count() == 1
    assert list(Item.objects.values_list("seats_taken", "answered")) == [(0, 0), (0, 0)]


def test_a_tie_before_the_advice_has_no_certainty(client, study):
    Study.objects.update(allow_tie=True)
    page = post_answer(client, item_page(client, study), choice="tie", certainty=None)

    assert "You saw no clear difference." in text_of(client.get(page["Location"]))
    assert InitialAnswer.objects.get().certainty is None
    assignment = Assignment.objects.get(position=2)
    with pytest.raises(IntegrityError), transaction.atomic():
        InitialAnswer.objects.create(
            assignment=assignment,
            choice="tie",
            certainty=5,
            answered_at=InitialAnswer.objects.get().answered_at,
        )
