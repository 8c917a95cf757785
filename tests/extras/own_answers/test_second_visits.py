"""A second visit: by a link of one's own, not before it is due, each answer once."""

import datetime as dt
import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Annotation, Annotator
from annotation.seats.flow import codes_of
from extras.own_answers.models import RetestAnswer, RetestVisit
from extras.own_answers.second_visits import second_visit_code, second_visit_table
from studies.models import Item, Study
from tests.annotation.pages.walking import answer_all, start, token_of
from tests.extras.own_answers.people import bring_back
from tests.factories import make_items, make_study, sign_in
from tests.studies.media_files import import_zip, needs_media, picture, with_media, zipped

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = make_study(perspective="own", items_per_annotator=5, entry="prolific")
    make_items(study, 5)
    return bring_back(study, 40)


@pytest.fixture
def client(study) -> Client:
    """Somebody who has just completed."""
    client = start(study)
    answer_all(client, study)
    client.post(f"/s/{study.slug}/profile/", {"do": "decide"})
    client.post(f"/s/{study.slug}/feedback/", {"comments": ""})
    return client


def link_in(page) -> str:
    found = re.search(r'href="([^"]*retest/\?code=[^"]+)"', page.content.decode())
    assert found
    return found[1]


def pass_days(days):
    """Move the visit instead of the clock."""
    for visit in RetestVisit.objects.all():
        visit.due_at -= dt.timedelta(days=days)
        visit.save()


@pytest.mark.nightly
def test_completing_plans_a_visit_and_the_end_page_has_the_link(study, client):
    visit = RetestVisit.objects.get()

    assert visit.answers.count() == 2
    assert dt.timedelta(days=6.9) < visit.due_at - timezone.now() <= dt.timedelta(days=7)
    page = client.get(f"/s/{study.slug}/done/")
    assert "Please come back" in page.content.decode()
    assert visit.code in link_in(page)


@pytest.mark.nightly
def test_before_it_is_due_nothing_is_asked(study, client):
    pass_days(6)
    link = link_in(client.get(f"/s/{study.slug}/done/"))

    page = client.get(link)

    assert page.status_code == 200
    assert "The second visit begins in 1 day." in page.content.decode()
    assert "Then you can answer 2 items again" in page.content.decode()
    assert client.get(f"/s/{study.slug}/retest/1/").status_code == 303
    sent = client.post(f"/s/{study.slug}/retest/1/", {"choice": "a", "certainty": "50"})
    assert sent.status_code == 303
    assert not RetestAnswer.objects.exclude(choice="").exists()


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("language", ["en", "de"])
def test_the_pages_say_from_which_moment_on_a_visit_can_be_made(study, client, language):
    Study.objects.update(language=language)
    moment = dt.datetime(2031, 6, 3, 14, 5, tzinfo=dt.UTC)
    RetestVisit.objects.update(due_at=moment)
    days = (moment - timezone.now()).days + 1
    words = {"en": f"n {days} days", "de": f"n {days} Tagen"}[language]

    done = client.get(f"/s/{study.slug}/done/")

    for page in (done, client.get(link_in(done))):
        html = page.content.decode()
        assert '<time datetime="2031-06-03T14:05:00+00:00" data-clock="' in html
        assert words in html
        assert "UTC" not in html


@pytest.mark.nightly
def test_the_link_works_on_another_device_and_also_when_the_study_is_closed(study, client):
    link = link_in(client.get(f"/s/{study.slug}/done/"))
    pass_days(7)
    Study.objects.update(state="closed")
    elsewhere = Client()

    page = elsewhere.get(link, follow=True)

    body = page.content.decode()
    assert page.request["PATH_INFO"] == f"/s/{study.slug}/retest/1/"
    assert "Which response do you prefer?" in body
    assert "checked" not in body  # nothing says what the first answer was
    for position in (1, 2):
        elsewhere.post(f"/s/{study.slug}/retest/{position}/", {"choice": "b", "certainty": "55"})
    assert "You have answered every item again." in elsewhere.get(link).content.decode()
    assert RetestVisit.objects.get().finished_at is not None


@pytest.mark.nightly
def test_answers_are_content_final_and_leave_the_first_ones_alone(study, client):
    pass_days(7)
    before = list(Annotation.objects.values_list("pk", "choice", "certainty"))
    url = f"/s/{study.slug}/retest/1/"
    client.get(f"/s/{study.slug}/retest/")

    refused = client.post(url, {"choice": "a"})
    client.post(url, {"choice": "b", "certainty": "55"})
    client.post(url, {"choice": "a", "certainty": "99"})

    answer = RetestAnswer.objects.get(position=1)
    assert refused.status_code == 422
    assert (answer.choice, answer.certainty) == (answer.as_content("b"), 55)
    assert list(Annotation.objects.values_list("pk", "choice", "certainty")) == before


@needs_media
@pytest.mark.nightly
def test_a_second_visit_sends_the_pictures_of_its_items_while_it_is_open(settings, tmp_path, study):
    settings.VAR_DIR = tmp_path
    items = [with_media(number, f"{number}.png", "b.png") for number in range(5)]
    colors = ("red", "green", "blue", "white", "black")
    files = {f"{number}.png": picture(color=color) for number, color in enumerate(colors)}
    pictures = make_study(slug="pictures", perspective="own", items_per_annotator=5)
    import_zip(
        "pictures", zipped(tmp_path / "p.zip", items, files | {"b.png": picture(color="pink")})
    )
    Study.objects.filter(pk=pictures.pk).update(state="open")
    bring_back(pictures, 40)
    client = start(pictures)
    answer_all(client, pictures)
    client.post("/s/pictures/profile/", {"do": "decide"})
    client.post("/s/pictures/feedback/", {"comments": ""})
    again = set(RetestVisit.objects.get().answers.values_list("item__key", flat=True))

    def is_sent(item):
        response = client.get(f"/s/pictures/media/{item.r1['media'][0]['sha256']}/")
        return response.streaming and b"".join(response.streaming_content).startswith(b"\x89PNG")

    def sent():
        return {item.key for item in Item.everything.filter(study=pictures) if is_sent(item)}

    assert sent() == set()
    pass_days(7)
    Study.objects.filter(pk=pictures.pk).update(state="closed")
    assert sent() == again
    for position in (1, 2):
        page = client.get(f"/s/pictures/retest/{position}/")
        assert "data-media-missing" in page.content.decode()
        client.post(f"/s/pictures/retest/{position}/", {"choice": "b", "certainty": "55"})
    assert sent() == set()


@pytest.mark.nightly
def test_a_second_answer_says_that_a_picture_was_missing_and_never_changes(study, client):
    pass_days(7)
    sent = {"choice": "b", "certainty": "55"}

    client.post(f"/s/{study.slug}/retest/1/", sent | {"media_missing": "yes"})
    client.post(f"/s/{study.slug}/retest/1/", sent)
    client.post(f"/s/{study.slug}/retest/2/", sent)

    found = RetestAnswer.objects.order_by("position").values_list("media_missing", flat=True)
    assert list(found) == [True, False]
    assert [row["media_missing"] for row in second_visit_table(study)] == [True, False]


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("active", ["480000", "-1", "NaN", "9" * 30, ""])
def test_a_made_up_time_of_a_second_answer_is_not_stored(active, study, client):
    pass_days(7)
    url = f"/s/{study.slug}/retest/1/"
    sent = {"choice": "a", "certainty": "50", "active_ms": active}

    client.post(url, sent | {"assignment": token_of(client.get(url))})
    client.post(f"/s/{study.slug}/retest/2/", sent)  # without saying when it was shown

    first, second = RetestAnswer.objects.order_by("position")
    assert (first.active_ms or 0) < 60_000
    assert second.active_ms is None


def test_a_follow_up_study_on_prolific_leads_here_by_the_id(study, client):
    pass_days(7)

    known = client.get(f"/s/{study.slug}/retest/?PROLIFIC_PID=5f1d3b2c4a6e7d8091a2b3c4")
    stranger = Client().get(f"/s/{study.slug}/retest/?PROLIFIC_PID=5f1d3b2c4a6e7d8091a2b3c4")
    unknown = Client().get(f"/s/{study.slug}/retest/?PROLIFIC_PID=6f1d3b2c4a6e7d8091a2b3c4")

    assert known["Location"] == f"/s/{study.slug}/retest/1/"
    assert stranger.status_code == 403
    assert "another browser" in stranger.content.decode()
    assert not stranger.cookies
    assert unknown.status_code == 403
    assert "this Prolific account did not" in unknown.content.decode()


def test_a_link_that_another_account_opens_is_refused_in_words(study, client):
    pass_days(7)
    link = link_in(client.get(f"/s/{study.slug}/done/"))
    elsewhere = Client()

    page = elsewhere.get(f"{link}&PROLIFIC_PID=6f1d3b2c4a6e7d8091a2b3c4")

    assert page.status_code == 403
    assert "belongs to a different Prolific account" in page.content.decode()
    assert not elsewhere.cookies
    own = elsewhere.get(f"{link}&PROLIFIC_PID=5f1d3b2c4a6e7d8091a2b3c4")
    assert own["Location"] == f"/s/{study.slug}/retest/1/"


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(("entry", "is_shown"), [("prolific", True), ("list", False)])
def test_only_a_finished_visit_shows_the_code_for_the_second_study(study, client, entry, is_shown):
    code = second_visit_code(study.pk)
    before = client.get(f"/s/{study.slug}/retest/").content.decode()
    pass_days(7)
    Study.objects.update(entry=entry)
    for position in (1, 2):
        client.post(f"/s/{study.slug}/retest/{position}/", {"choice": "b", "certainty": "55"})

    after = client.get(f"/s/{study.slug}/retest/").content.decode()

    assert code not in before
    assert (f"submissions/complete?cc={code}" in after) is is_shown
    assert code not in codes_of(study.pk).values()


@pytest.mark.nightly
def test_owners_download_the_ids_of_who_is_due(study, client):
    url = reverse("own_people:second-visits", args=[study.slug])
    owner, editor = sign_in(study, "owner"), sign_in(study)

    early = owner.post(url, {"action": "ids"})
    pass_days(7)

    assert early.content == b""
    assert owner.post(url, {"action": "ids"}).content == b"5f1d3b2c4a6e7d8091a2b3c4\n"
    assert editor.post(url, {"action": "ids"}).status_code == 404
    assert study.log.filter(event="ids of second visits downloaded", detail={"ids": 1}).exists()
    Annotator.objects.update(excluded_at=timezone.now(), exclusion_reason="other")
    assert owner.post(url, {"action": "ids"}).content == b""


@pytest.mark.nightly
def test_the_page_has_what_a_second_study_on_prolific_needs(
    study, client, django_assert_max_num_queries
):
    pass_days(7)
    url, owner = reverse("own_people:second-visits", args=[study.slug]), sign_in(study, "owner")
    second_visit_code(study.pk)

    with django_assert_max_num_queries(17):
        html = owner.get(url).content.decode()

    assert f"/s/{study.slug}/retest/?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}" in html
    assert second_visit_code(study.pk) in html
    assert "Download ids" in html
    assert "Only owners" in sign_in(study).get(url).content.decode()
    Study.objects.update(entry="link")
    assert "Prolific" not in sign_in(study).get(url).content.decode().split("<main")[1]


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("query", ["", "?code=wrong", "?code="])
def test_nobody_else_gets_in(study, client, query):
    pass_days(7)

    assert Client().get(f"/s/{study.slug}/retest/{query}").status_code == 400
    assert Client().get(f"/s/{study.slug}/retest/1/").status_code == 400


@pytest.mark.nightly
def test_withdrawing_deletes_the_visit(study, client):
    pass_days(7)
    client.post(f"/s/{study.slug}/retest/1/", {"choice": "b", "certainty": "55"})

    client.post(f"/s/{study.slug}/withdraw/")

    assert Annotator.objects.get().state == "withdrew"
    assert RetestVisit.objects.count() == RetestAnswer.objects.count() == 0


def test_other_studies_plan_none():
    study = make_study(perspective="own", items_per_annotator=1)
    make_items(study, 1)
    client = start(study)
    answer_all(client, study)
    client.post(f"/s/{study.slug}/profile/", {"do": "decide"})
    client.post(f"/s/{study.slug}/feedback/", {"comments": ""})

    assert Annotator.objects.get().state == "completed"
    assert not RetestVisit.objects.exists()


def test_what_follows_a_study_has_one_entry_in_the_navigation(study):
    client = sign_in(study)
    address = reverse("own_people:follow-ups", args=[study.slug])
    overview = client.get(reverse("people:list", args=[study.slug])).content.decode()
    names = ("second-visits", "linked", "waves")
    pages = [reverse(f"own_people:{name}", args=[study.slug]) for name in names]

    listed = client.get(address).content.decode()

    assert f'<a href="{address}">Follow-ups</a>' in overview
    assert not [page for page in pages if f'<a href="{page}">' in overview]
    assert not [page for page in pages if f'<a href="{page}">' not in listed]
    for page in pages:
        assert f'<a href="{address}">Follow-ups</a></li>' in client.get(page).content.decode()
