"""The way through a study: consent, about you, instructions, feedback, endings."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from annotation import services
from annotation.errors import AlreadyEnded, Unfinished, WrongStep
from annotation.models import Annotator, CompletionCode, DemographicQuestion, QuotaGroup
from annotation.seats.flow import ensure_codes
from tests.annotation.pages.walking import answer_all, arrive, begun, start
from tests.factories import make_items, make_study

pytestmark = pytest.mark.django_db


def make_quota_study(**overrides):
    study = make_study(**overrides)
    for key, label in (("gender", "Your gender"), ("politics", "Your politics")):
        options = [{"value": f"{key}-1", "label": "One"}, {"value": f"{key}-2", "label": "Two"}]
        DemographicQuestion.objects.create(study=study, key=key, label=label, options=options)
    QuotaGroup.objects.create(study=study, criteria={"gender": "gender-1"}, target=1)
    QuotaGroup.objects.create(study=study, is_everyone_else=True, target=1)
    return study


def test_the_whole_way_ends_with_a_code_that_is_shown_after_completion_only():
    study, client = begun(3)

    last = answer_all(client, study)
    assert not CompletionCode.objects.filter(study=study, ending="completed").exists()
    assert "Your 3 answers are saved" in last.content.decode()
    finished = client.post(f"/s/{study.slug}/feedback/", {"comments": "Fine <b>study</b>"})
    page = client.get(finished["Location"])

    annotator = Annotator.objects.get()
    code = CompletionCode.objects.get(study=study, ending="completed").code
    assert (finished.status_code, finished["Location"]) == (303, f"/s/{study.slug}/done/")
    assert (annotator.state, annotator.feedback) == ("completed", "Fine <b>study</b>")
    assert (
        f'href="https://app.prolific.com/submissions/complete?cc={code}"' in page.content.decode()
    )
    assert f"data-code>{code}<" in page.content.decode()


def test_refusing_ends_with_a_page_of_its_own_and_keeps_nothing_about_the_person():
    study = make_study()
    client = arrive(study)

    page = client.post(f"/s/{study.slug}/consent/", {"consent": "no"}, follow=True)

    code = CompletionCode.objects.get(study=study, ending="declined").code
    assert "You have not taken part" in page.content.decode()
    assert code in page.content.decode()
    assert Annotator.objects.get().demographics == {}


@pytest.mark.parametrize("data", [{}, {"consent": "maybe"}])
def test_neither_yes_nor_no_asks_again(data):
    study = make_study()

    response = arrive(study).post(f"/s/{study.slug}/consent/", data)

    assert response.status_code == 422
    assert Annotator.objects.get().state == "arrived"


def test_about_you_asks_only_the_quota_questions_and_says_why():
    study = make_quota_study()
    client = arrive(study)
    shown = client.post(f"/s/{study.slug}/consent/", {"consent": "yes"}, follow=True)

    answers = {"attr_gender": "gender-1", "attr_politics": "prefer_not_to_say"}
    response = client.post(f"/s/{study.slug}/about/", answers)

    page = shown.content.decode()
    assert (page.count("<fieldset"), page.count("Prefer not to say")) == (2, 2)
    assert "checked" not in page
    for purpose in ("report who took part", "whether groups answer differently", "how many people"):
        assert purpose in page
    assert (response.status_code, response["Location"]) == (303, f"/s/{study.slug}/instructions/")
    assert Annotator.objects.get().demographics == {
        "gender": "gender-1",
        "politics": "prefer_not_to_say",
    }


@pytest.mark.parametrize("politics", [{}, {"attr_politics": "<script>"}])
def test_about_you_keeps_what_was_entered_when_something_is_missing(politics):
    study = make_quota_study()
    client = arrive(study)
    client.post(f"/s/{study.slug}/consent/", {"consent": "yes"})

    response = client.post(f"/s/{study.slug}/about/", {"attr_gender": "gender-2"} | politics)

    page = response.content.decode()
    assert response.status_code == 422
    assert "<title>Error:" in page
    assert 'href="#attr_politics-0"' in page
    assert 'value="gender-2" id="attr_gender-1" checked' in page
    assert Annotator.objects.get().state == "consented"


@pytest.mark.parametrize("step", ["about", "task", "feedback", "done"])
def test_an_address_ahead_of_the_step_leads_back_to_it(step):
    study = make_study()
    client = arrive(study)

    response = client.get(f"/s/{study.slug}/{step}/", follow=True)

    assert response.redirect_chain[-1][0] == f"/s/{study.slug}/consent/"
    assert response.status_code == 200


def test_a_study_without_items_says_that_it_is_not_ready():
    study = make_study()
    client = arrive(study)
    client.post(f"/s/{study.slug}/consent/", {"consent": "yes"})

    response = client.post(f"/s/{study.slug}/instructions/")

    assert response.status_code == 403
    assert "The study is not open yet" in response.content.decode()
    assert Annotator.objects.get().state == "screened"


@pytest.mark.parametrize("error", [WrongStep("elsewhere"), AlreadyEnded("over"), Unfinished(1)])
def test_a_tab_that_is_behind_another_shows_the_current_step(monkeypatch, error):
    study = make_study()
    client = arrive(study)

    def overtaken(**kwargs):
        raise error

    monkeypatch.setattr(services, "consent", overtaken)
    response = client.post(f"/s/{study.slug}/consent/", {"consent": "yes"})

    assert (response.status_code, response["Location"]) == (303, f"/s/{study.slug}/consent/")


def test_a_final_ending_cannot_be_resumed_or_withdrawn():
    study = make_study()
    client = arrive(study)
    client.post(f"/s/{study.slug}/consent/", {"consent": "no"})

    for path in ("done", "withdraw"):
        response = client.post(f"/s/{study.slug}/{path}/", follow=True)
        assert "You have not taken part" in response.content.decode()
    assert Annotator.objects.get().state == "declined"


def test_comments_that_are_too_long_are_kept_and_explained():
    study, client = begun()
    answer_all(client, study)

    response = client.post(f"/s/{study.slug}/feedback/", {"comments": "x" * 5001})

    assert response.status_code == 422
    assert "x" * 5001 in response.content.decode()
    assert Annotator.objects.get().state == "annotating"


def test_withdrawing_asks_for_confirmation_and_then_ends():
    study, client = begun()

    asked = client.get(f"/s/{study.slug}/withdraw/")
    assert Annotator.objects.get().state == "annotating"
    page = client.post(f"/s/{study.slug}/withdraw/", follow=True)

    assert asked.status_code == 200
    assert "You have withdrawn" in page.content.decode()
    assert Annotator.objects.get().state == "withdrew"


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("ending", "words"),
    [
        (services.mark_returned, "You gave your place back"),
        (services.reject, "Your submission was not accepted"),
        (services.time_out, "Your time for this study is over"),
    ],
)
def test_every_ending_has_a_page_of_its_own(ending, words):
    study, client = begun()
    ending(annotator_id=Annotator.objects.get().pk)

    page = client.get(f"/s/{study.slug}/done/")

    assert page.status_code == 200
    assert words in page.content.decode()


@pytest.mark.parametrize("path", ["pause", "help", "withdraw"])
def test_the_side_pages_lead_back_to_the_step(path):
    study = make_study()

    page = arrive(study).get(f"/s/{study.slug}/{path}/").content.decode()

    assert f'href="/s/{study.slug}/consent/"' in page


def test_the_pause_page_says_how_long_the_place_is_kept():
    study, client = begun()

    page = client.get(f"/s/{study.slug}/pause/").content.decode()

    assert Annotator.objects.get().expires_at.isoformat(timespec="seconds")[:16] in page
    assert re.search(r"Come back by the same link within \d\d minutes\.", page)
    assert "UTC" not in page


@pytest.mark.parametrize(
    ("language", "direction"), [("de-AT", "ltr"), ("ar", "rtl"), ("tlh", "ltr")]
)
def test_the_page_speaks_the_language_of_the_study_never_of_the_browser(language, direction):
    study = make_study(language=language)
    client = Client(headers={"accept-language": "fr"})

    page = arrive(study, client=client).get(f"/s/{study.slug}/consent/").content.decode()

    assert f'<html lang="{language}" dir="{direction}"' in page


DEAD_ENDS = ["declined", "disqualified", "closed", "timed_out", "withdrew"]


@pytest.mark.parametrize("state", DEAD_ENDS)
def test_every_dead_end_says_how_to_return_the_place(state):
    study = make_study(entry="prolific")
    make_items(study, 1)
    client = start(study)
    ensure_codes(study.pk)
    Annotator.objects.update(state=state, ended_at=timezone.now())

    page = client.get(f"/s/{study.slug}/done/").content.decode()

    assert "choose “Return submission”" in page
    assert 'href="https://app.prolific.com/submissions"' in page


def test_people_who_came_another_way_never_read_about_prolific():
    study = make_study(entry="link", state="closed")

    assert "Prolific" not in Client().get(f"/s/{study.slug}/").content.decode()
