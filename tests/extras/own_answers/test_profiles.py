"""People who answer for themselves: no profile on the page, and a profile of them to agree to."""

import re

import pytest

from annotation.models import Annotation, Annotator
from extras.own_answers.models import OwnProfile
from judging.errors import BadRun
from judging.models import Judge
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from studies.models import Study
from tests.annotation.pages.walking import answer_all, arrive, start
from tests.extras.own_answers.people import ask_for_age
from tests.factories import make_items, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(db: None) -> Study:
    study = make_study(perspective="own", items_per_annotator=3, show_history=1)
    make_items(study, 3)
    ask_for_age(study)
    return study


def walk(study, age="a"):
    client = arrive(study)
    client.post(f"/s/{study.slug}/consent/", {"consent": "yes"})
    client.post(f"/s/{study.slug}/about/", {"attr_age": age})
    client.post(f"/s/{study.slug}/instructions/")
    return client


def finish_items(client, study):
    answer_all(client, study)
    return client.get(f"/s/{study.slug}/feedback/")


def version_in(page):
    return re.search(r'name="version" value="(\w+)"', page.content.decode())[1]


def test_the_pages_ask_for_oneself_and_show_no_person(study):
    client = arrive(study)
    consent = client.get(f"/s/{study.slug}/consent/").content.decode()
    client.post(f"/s/{study.slug}/consent/", {"consent": "yes"})
    about = client.get(f"/s/{study.slug}/about/").content.decode()
    client.post(f"/s/{study.slug}/about/", {"attr_age": "a"})
    instructions = client.get(f"/s/{study.slug}/instructions/").content.decode()
    client.post(f"/s/{study.slug}/instructions/")
    item = client.get(f"/s/{study.slug}/task/1/").content.decode()

    assert "Who sees a profile of you" in consent
    assert "Others see them as a profile only if you allow it" in about
    assert "Answer for yourself." in instructions
    assert "Two examples" not in instructions
    assert "Which response do you prefer?" in item
    assert "You could as well have chosen the other one." in item
    assert "About the person" not in item
    assert "The person is 35-44." not in item


@pytest.mark.nightly
def test_after_the_items_comes_one_page_that_is_off_by_default(study):
    page = finish_items(client := walk(study), study)

    assert page.status_code == 303
    assert page["Location"] == f"/s/{study.slug}/profile/"
    page = client.get(page["Location"]).content.decode()
    assert "The person is 18–29 years old." in page
    assert "Earlier, to “Question" in page
    assert "checked" not in page
    assert OwnProfile.objects.count() == 0


@pytest.mark.nightly
def test_refusing_loses_nothing(study):
    client = walk(study)
    finish_items(client, study)

    client.post(f"/s/{study.slug}/profile/", {"do": "decide"})
    client.post(f"/s/{study.slug}/feedback/", {"comments": ""})

    profile = OwnProfile.objects.get()
    assert (profile.is_shown, profile.features, profile.text) == (False, [], "")
    annotator = Annotator.objects.get()
    assert annotator.state == "completed"
    assert set(Annotation.objects.values_list("standing", flat=True)) == {"counted"}
    assert "See your profile" in client.get(f"/s/{study.slug}/done/").content.decode()


@pytest.mark.nightly
def test_agreeing_keeps_exactly_what_was_shown(study):
    client = walk(study)
    finish_items(client, study)
    url = f"/s/{study.slug}/profile/"
    preview = client.post(url, {"do": "preview", "text": " I <b>sail</b>. "})

    sent = {"do": "decide", "text": "I <b>sail</b>.", "show": "yes"}
    agreed = client.post(url, sent | {"version": version_in(preview)})

    assert "I &lt;b&gt;sail&lt;/b&gt;." in preview.content.decode()
    assert agreed.status_code == 303
    profile = OwnProfile.objects.get()
    assert profile.is_shown
    assert profile.text == "I <b>sail</b>."
    assert [each["text"] for each in profile.features] == ["The person is 18–29 years old."]
    assert profile.examples == 1


def test_nobody_agrees_to_a_text_that_was_not_shown(study):
    client = walk(study)
    finish_items(client, study)
    url = f"/s/{study.slug}/profile/"
    before = version_in(client.get(url))

    page = client.post(url, {"do": "decide", "text": "New.", "show": "yes", "version": before})

    assert page.status_code == 422
    assert "The profile has changed." in page.content.decode()
    assert "New." in page.content.decode().partition("What others would see")[2]
    assert OwnProfile.objects.count() == 0
    again = {"do": "decide", "text": "New.", "show": "yes", "version": version_in(page)}
    assert client.post(url, again).status_code == 303


def test_who_says_nothing_has_nothing_to_show(study):
    Study.objects.filter(pk=study.pk).update(show_history=0)
    client = walk(study, age="prefer_not_to_say")
    finish_items(client, study)
    page = client.get(f"/s/{study.slug}/profile/")

    sent = {"do": "decide", "show": "yes", "version": version_in(page)}
    refused = client.post(f"/s/{study.slug}/profile/", sent)

    assert "Nothing yet" in page.content.decode()
    assert refused.status_code == 422
    assert "There is nothing to show." in refused.content.decode()


def agreed(study):
    client = walk(study)
    finish_items(client, study)
    url = f"/s/{study.slug}/profile/"
    client.post(url, {"do": "decide", "show": "yes", "version": version_in(client.get(url))})
    client.post(f"/s/{study.slug}/feedback/", {"comments": ""})
    return client


@pytest.mark.nightly
def test_consent_can_be_taken_back_after_the_end_but_not_given(study):
    client = agreed(study)
    url = f"/s/{study.slug}/profile/"
    assert "Remove my profile" in client.get(url).content.decode()

    client.post(url)

    profile = OwnProfile.objects.get()
    assert (profile.is_shown, profile.features) == (False, [])
    assert "Nobody sees a profile of you." in client.get(url).content.decode()
    client.post(url, {"show": "yes", "do": "decide"})
    assert not OwnProfile.objects.get().is_shown
    assert Annotator.objects.get().state == "completed"


@pytest.mark.nightly
def test_withdrawing_deletes_the_profile(study):
    client = agreed(study)

    client.post(f"/s/{study.slug}/withdraw/")

    assert OwnProfile.objects.count() == 0
    assert Annotator.objects.get().state == "withdrew"


def test_other_studies_have_no_such_page():
    study = make_study(items_per_annotator=1)
    make_items(study, 1)
    client = start(study)
    answer_all(client, study)

    page = client.get(f"/s/{study.slug}/profile/")

    assert page["Location"] == f"/s/{study.slug}/feedback/"


def test_no_judge_is_asked_for_answers_of_its_own(study):
    judge = Judge.objects.create(
        name="j", backend="openai", model="m", base_url="http://127.0.0.1:9/v1"
    )

    with pytest.raises(BadRun, match="people answer for themselves"):
        start_run(RunSpec(study_id=study.pk, judge_id=judge.pk))
