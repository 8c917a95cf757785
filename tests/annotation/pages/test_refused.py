"""When a request goes wrong, people learn how to go on, in the study's language."""

from io import BytesIO

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import InterfaceError, OperationalError, connection
from django.test import Client

from annotation.participants.error_pages import bad_request, permission_denied
from tests.annotation.pages.walking import arrive
from tests.factories import make_study, sign_in

pytestmark = pytest.mark.django_db


def test_a_refused_form_says_how_to_continue_and_mentions_cookies_only_if_none_were_sent():
    study = make_study(language="de")
    client = arrive(study, client=Client(enforce_csrf_checks=True))
    consent = f"/s/{study.slug}/consent/"

    with_cookie = client.post(consent, {"consent": "yes"})
    client.cookies.clear()
    without = client.post(consent, {"consent": "yes"}).content.decode()

    page = with_cookie.content.decode()
    assert with_cookie.status_code == 403
    assert "Bitte senden Sie das noch einmal" in page
    assert '<html lang="de"' in page
    assert ("Cookie" in page, "Cookie" in without) == (False, True)


@pytest.mark.parametrize(
    ("language", "words", "direction"),
    [
        ("en", "There is no such page", "ltr"),
        ("de", "Diese Seite gibt es nicht", "ltr"),
        ("ar", "لا توجد صفحة كهذه", "rtl"),
    ],
)
@pytest.mark.parametrize("path", ["nowhere/", "preview/task/"])
def test_a_page_that_is_not_there_leads_back_in_the_language_of_the_study(
    language, words, direction, path
):
    study = make_study(language=language, contact="study@example.org")
    client = arrive(study)

    response = client.get(f"/s/{study.slug}/{path}")

    page = response.content.decode()
    assert response.status_code == 404
    assert words in page
    assert f'<html lang="{language}" dir="{direction}"' in page
    assert f'href="/s/{study.slug}/"' in page
    assert "mailto:study@example.org" in page


@pytest.mark.parametrize("path", ["/s/no-such-study/", "/nowhere/"])
def test_without_a_study_the_page_is_english(path):
    response = Client().get(path)

    assert response.status_code == 404
    assert "There is no such page" in response.content.decode()
    assert '<html lang="en" dir="ltr"' in response.content.decode()


def test_a_server_error_is_shown_in_the_language_of_the_study(monkeypatch):
    study = make_study(language="de", contact="study@example.org")
    client = arrive(study)
    client.raise_request_exception = False

    def fail(*_args, **_kwargs):
        raise RuntimeError("broken")

    monkeypatch.setattr("annotation.participants.views.consent_text", fail)
    response = client.get(f"/s/{study.slug}/consent/")

    page = response.content.decode()
    assert response.status_code == 500
    assert "Auf unserer Seite ist etwas schiefgegangen" in page
    assert '<html lang="de" dir="ltr"' in page
    assert "mailto:study@example.org" in page


def test_a_database_that_does_not_answer_still_leaves_a_page(monkeypatch):
    study = make_study(language="de")
    client = Client(raise_request_exception=False)

    def fail(*_args, **_kwargs):
        raise OperationalError("no database")

    monkeypatch.setattr("django.db.models.query.QuerySet.get", fail)
    monkeypatch.setattr("django.db.models.query.QuerySet.first", fail)
    response = client.get(f"/s/{study.slug}/")

    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert response.headers["Refresh"] == "5"
    assert "The server cannot reach its data" in response.content.decode()
    german = client.get(f"/s/{study.slug}/", headers={"Accept-Language": "de-AT"})
    assert "Der Server erreicht seine Daten nicht" in german.content.decode()


@pytest.mark.parametrize(
    "error", [OperationalError("database is locked"), InterfaceError("closed")]
)
def test_a_form_sent_during_a_database_outage_is_kept_and_sent_again(error):
    study = make_study()
    client = arrive(study)
    client.raise_request_exception = False

    def fail(*_args, **_kwargs):
        raise error

    sent = {"choice": "r1", "certainty": ["80", '"><b>']}
    with connection.execute_wrapper(fail):
        response = client.post(f"/s/{study.slug}/task/1/", sent)

    page = response.content.decode()
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert "Your answer is kept on this device" in page
    assert f'<form method="post" action="/s/{study.slug}/task/1/" data-again>' in page
    for name, value in (
        ("choice", "r1"),
        ("certainty", "80"),
        ("certainty", "&quot;&gt;&lt;b&gt;"),
    ):
        assert f'<input type="hidden" name="{name}" value="{value}">' in page
    assert "annotator-again.js" in page


def test_a_researcher_s_form_is_kept_but_sent_again_only_by_hand():
    study = make_study()
    client = sign_in(study)
    client.raise_request_exception = False

    def fail(*_args, **_kwargs):
        raise OperationalError("no database")

    address = f"/studies/{study.slug}/people/texts/"
    with connection.execute_wrapper(fail):
        response = client.post(address, {"consent": "Please <read> this."})
        file = client.post(address, {"file": BytesIO(b"text")})

    page = response.content.decode()
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert 'name="consent" value="Please &lt;read&gt; this."' in page
    assert "look in another tab before you send it again" in page
    assert "annotator-again.js" not in page
    assert "this page does not keep it" in file.content.decode()


def test_a_page_about_an_outage_repeats_no_password():
    def fail(*_args, **_kwargs):
        raise OperationalError("no database")

    client = Client(raise_request_exception=False)
    with connection.execute_wrapper(fail):
        response = client.post("/accounts/login/", {"username": "a", "password": "hidden-word"})

    assert response.status_code == 503
    assert "hidden-word" not in response.content.decode()


def test_forbidden_and_broken_requests_are_answered_in_the_language_too(rf):
    study = make_study(language="de")
    request = rf.get(f"/s/{study.slug}/task/")

    forbidden = permission_denied(request, exception=PermissionDenied())
    broken = bad_request(request, exception=SuspiciousOperation())

    assert (forbidden.status_code, broken.status_code) == (403, 400)
    assert "Sie dürfen diese Seite nicht sehen" in forbidden.content.decode()
    assert "Das ließ sich nicht lesen" in broken.content.decode()
