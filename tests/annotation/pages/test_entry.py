"""Who may come in, who is told what instead, and that nothing is stored then."""

from html import unescape

import pytest
from django.test import Client

from annotation.models import (
    Annotator,
    CompletionCode,
    Invitation,
    ProlificIdentity,
    ProlificStudy,
)
from tests.annotation.pages.walking import PID, arrive, begun, entry_url
from tests.factories import make_items, make_study, sign_in

pytestmark = pytest.mark.django_db


def test_the_link_from_prolific_leads_to_the_consent_page():
    study = make_study()

    response = Client().get(entry_url(study), follow=True)

    assert response.redirect_chain == [(f"/s/{study.slug}/consent/", 302)]
    assert response.status_code == 200
    assert Annotator.objects.get().prolific_identity.session_ids == ["se1"]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?PROLIFIC_PID=",
        "?PROLIFIC_PID={{%PROLIFIC_PID%}}",
        "?PROLIFIC_PID=%7B%7B%25PROLIFIC_PID%25%7D%7D&STUDY_ID=s&SESSION_ID=s",
        "?PROLIFIC_PID=<script>alert(1)</script>",
        "?PROLIFIC_PID=../../etc",
        "?PROLIFIC_PID=" + "a" * 65,
        "?PROLIFIC_PID=a b",
        "?PROLIFIC_PID=é",
        f"?PROLIFIC_PID={PID}&STUDY_ID={{{{%STUDY_ID%}}}}",
        f"?PROLIFIC_PID={PID}&SESSION_ID={{{{%SESSION_ID%}}}}",
    ],
)
def test_a_link_without_a_usable_id_gets_the_help_page_and_stores_nothing(query):
    study = make_study()

    response = Client().get(f"/s/{study.slug}/{query}")

    assert response.status_code == 400
    assert "Open the study from where you found it" in response.content.decode()
    assert "alert(1)" not in response.content.decode()
    assert not Annotator.objects.exists()
    assert not [name for name in response.cookies if name.startswith("participant")]


def test_blanks_around_the_ids_of_a_link_are_no_part_of_them():
    study = make_study()

    response = Client().get(f"/s/{study.slug}/?PROLIFIC_PID={PID}%20&STUDY_ID=%20a1&SESSION_ID=b2+")

    assert response.status_code == 302
    assert Annotator.objects.get().prolific_identity.pid == PID


@pytest.mark.parametrize("entry", ["prolific", "list", "link"])
def test_without_cookies_the_page_mentions_them_first(entry):
    study = make_study(entry=entry, language="de")
    client = arrive(study)
    client.cookies.clear()

    response = client.get(f"/s/{study.slug}/consent/")

    page = unescape(response.content.decode())
    assert response.status_code == 400
    assert "<h1>Bitte erlauben Sie Cookies für diese Website</h1>" in page
    assert "Link" not in page.split("Cookie", 1)[0]


def test_a_study_on_prolific_accepts_only_ids_of_its_form():
    study = make_study()
    ProlificStudy.objects.create(study=study, prolific_id="6" * 24)

    refused = Client().get(entry_url(study, "lab-7"))
    taken = Client().get(entry_url(study))

    assert (refused.status_code, taken.status_code) == (400, 302)
    assert Annotator.objects.count() == 1


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("draft", "The study is not open yet"),
        ("paused", "taking a break"),
        ("closed", "The study is closed"),
    ],
)
def test_a_study_that_admits_nobody_says_how_to_return_the_place(state, words):
    study = make_study(state=state)

    response = Client().get(entry_url(study))

    page = response.content.decode()
    assert response.status_code == 403
    assert words in page
    assert "choose “Return submission”" in page
    assert not Annotator.objects.exists()


@pytest.mark.parametrize("entry", ["prolific", "link", "list"])
@pytest.mark.parametrize(
    "page", ["", "?PROLIFIC_PID=" + "5" * 24, "?code=ABC", "consent/", "task/", "task/1/", "help/"]
)
def test_strangers_learn_nothing_about_a_draft(entry, page):
    study = make_study(state="draft", entry=entry, title="Secret plan", contact="me@lab.example")
    address = f"/s/{study.slug}/{page}"

    for client in (Client(), sign_in(make_study(slug="other"))):
        text = client.get(address, follow=True).content.decode()
        assert "Secret plan" not in text
        assert "me@lab.example" not in text
    assert "Secret plan" in sign_in(study).get(address, follow=True).content.decode()
    assert "Secret plan" not in Client().post(address, {"code": "ABC"}).content.decode()


def test_annotators_at_work_in_a_paused_study_continue():
    study, client = begun()
    type(study).objects.update(state="paused")

    assert client.get(f"/s/{study.slug}/task/").status_code == 200


def test_one_browser_can_hold_places_in_two_studies():
    first, second = make_study(), make_study()
    client = arrive(first)
    arrive(second, client=client)

    assert client.get(f"/s/{first.slug}/consent/").status_code == 200
    assert client.get(f"/s/{second.slug}/consent/").status_code == 200
    assert Annotator.objects.count() == 2


def test_a_new_person_gets_a_new_csrf_secret_and_an_old_one_keeps_theirs():
    study = make_study()
    client = arrive(study, "first-person")
    before = client.cookies["csrftoken"].value
    arrive(study, "first-person", client)
    same = client.cookies["csrftoken"].value

    response = client.get(entry_url(study, "second-person"), follow=True)

    assert response.redirect_chain[-1][0] == f"/s/{study.slug}/consent/"
    assert same == before
    assert client.cookies["csrftoken"].value != before


def test_the_cookie_is_signed_private_and_only_for_this_study():
    study = make_study()

    cookie = Client().get(entry_url(study)).cookies[f"participant-{study.slug}"]

    assert cookie["path"] == f"/s/{study.slug}/"
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert PID not in cookie.value


def test_over_https_the_cookie_is_host_only_and_an_earlier_one_still_counts(settings):
    study = make_study()
    earlier = arrive(study)
    settings.SESSION_COOKIE_SECURE = True

    cookie = Client().get(entry_url(study, "somebody-new")).cookies

    assert [name for name in cookie if "participant" in name] == [
        f"__Host-participant-{study.slug}"
    ]
    found = cookie[f"__Host-participant-{study.slug}"]
    assert (found["path"], found["domain"], found["secure"]) == ("/", "", True)
    assert earlier.get(f"/s/{study.slug}/consent/").status_code == 200


def test_a_forged_cookie_identifies_nobody():
    study = make_study()
    arrive(study)
    client = Client()
    client.cookies[f"participant-{study.slug}"] = f"{Annotator.objects.get().pk}:forged:signature"

    response = client.get(f"/s/{study.slug}/consent/")

    assert response.status_code == 400


def test_a_cookie_of_one_study_opens_no_other():
    first, second = make_study(), make_study()
    client = arrive(first)
    client.cookies[f"participant-{second.slug}"] = client.cookies[f"participant-{first.slug}"].value

    assert client.get(f"/s/{second.slug}/consent/").status_code == 400


def test_no_page_may_be_kept_by_a_cache():
    study = make_study()

    response = arrive(study).get(f"/s/{study.slug}/consent/")

    assert "no-store" in response["Cache-Control"]
    assert response["Referrer-Policy"] == "no-referrer"


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    "sent",
    [
        {"Sec-Purpose": "prefetch;prerender", "Sec-Fetch-Dest": "document"},
        {"Purpose": "prefetch"},
        {"X-Purpose": "preview"},
        {"X-Moz": "prefetch"},
        {"Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Dest": "empty"},
    ],
)
def test_a_request_that_no_person_made_begins_no_part(sent):
    study = make_study()

    ahead = Client().get(entry_url(study), headers=sent)
    asked = [getattr(Client(), each)(entry_url(study)) for each in ("head", "options", "trace")]

    assert ahead.status_code == 403
    assert not ahead.cookies
    assert [each.status_code for each in asked] == [405] * 3
    assert not Annotator.objects.exists()
    opened = {"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate"}
    assert Client().get(entry_url(study), headers=opened).status_code == 302
    assert Annotator.objects.count() == 1


def test_an_open_link_starts_by_a_button_and_shows_a_code_to_come_back():
    study = make_study(entry="link")
    client = Client()

    page = client.get(f"/s/{study.slug}/")
    assert page.status_code == 200
    assert not Annotator.objects.exists()

    consent = client.post(f"/s/{study.slug}/", follow=True)
    code = Annotator.objects.get().resume_code
    assert code in consent.content.decode()
    again = client.get(f"/s/{study.slug}/")
    assert again["Location"] == f"/s/{study.slug}/consent/"


def test_an_unknown_resume_code_is_explained_and_stores_nothing():
    study = make_study(entry="link")

    response = Client().post(f"/s/{study.slug}/", {"code": '"><script>'})

    page = response.content.decode()
    assert response.status_code == 422
    assert "There is a problem" in page
    assert "<script>" not in page.split("<main")[1].split("</main>")[0]
    assert not Annotator.objects.exists()


def test_a_researcher_without_an_id_gets_the_preview_and_stores_nothing():
    study = make_study(state="draft")
    make_items(study, 2)

    page = sign_in(study, "viewer").get(f"/s/{study.slug}/", follow=True)

    assert page.redirect_chain == [(f"/s/{study.slug}/preview/task/", 302)]
    assert "No answer that you give here is stored" in page.content.decode()
    assert not Annotator.objects.exists()


def entered_elsewhere(study, session, pid=PID):
    """What another browser gets, and whether it reaches the page on which one withdraws."""
    client = Client()
    query = f"?PROLIFIC_PID={pid}" + (f"&SESSION_ID={session}" if session else "")
    entered = client.get(f"/s/{study.slug}/{query}")
    return entered, client.get(f"/s/{study.slug}/withdraw/").status_code == 200


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("entry", ["prolific", "list"])
@pytest.mark.parametrize("session", ["", "another"])
def test_an_id_alone_does_not_open_the_part_of_somebody_who_consented(entry, session):
    study = make_study(entry=entry, contact="ada@example.org")
    Invitation.objects.create(study=study, key=PID)
    client = arrive(study)
    client.post(f"/s/{study.slug}/consent/", {"consent": "yes"})

    entered, acts = entered_elsewhere(study, session)

    assert (entered.status_code, acts) == (403, False)
    assert "ada@example.org" in entered.content.decode()
    assert not entered.cookies
    assert client.get(f"/s/{study.slug}/withdraw/").status_code == 200
    assert arrive(study, client=client).get(f"/s/{study.slug}/withdraw/").status_code == 200


def test_before_consent_another_session_is_refused_too():
    study = make_study()
    arrive(study)

    assert entered_elsewhere(study, "another")[0].status_code == 403


def test_a_mail_program_opening_the_link_first_locks_nobody_out():
    study = make_study(entry="list")
    Invitation.objects.create(study=study, key="student-7")
    Client().get(f"/s/{study.slug}/?PROLIFIC_PID=student-7")

    assert entered_elsewhere(study, "", "student-7")[0].status_code == 302


def test_a_deleted_identity_leaves_the_browser_alone():
    study = make_study()
    arrive(study).post(f"/s/{study.slug}/consent/", {"consent": "yes"})
    ProlificIdentity.objects.all().delete()

    assert not entered_elsewhere(study, "se1")[1]


def test_a_closed_study_gives_people_who_had_begun_its_code():
    study, client = begun()
    type(study).objects.update(state="closed")

    response = client.get(f"/s/{study.slug}/task/")

    code = CompletionCode.objects.get(study=study, ending="closed").code
    assert response.status_code == 403
    assert f"https://app.prolific.com/submissions/complete?cc={code}" in response.content.decode()
