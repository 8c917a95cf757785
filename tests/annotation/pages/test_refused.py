"""A form that comes without its proof: people learn how to go on, in the study's language."""

import pytest
from django.test import Client

from tests.annotation.pages.walking import arrive
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "Please send that again"), ("de", "Bitte senden Sie das noch einmal")],
)
def test_a_refused_form_says_how_to_go_on(language, words):
    study = make_study(language=language)
    client = arrive(study, client=Client(enforce_csrf_checks=True))

    response = client.post(f"/s/{study.slug}/consent/", {"consent": "yes"})

    assert response.status_code == 403
    assert words in response.content.decode()
    assert f'<html lang="{language}"' in response.content.decode()


def test_elsewhere_it_is_english():
    response = Client(enforce_csrf_checks=True).post("/accounts/login/", {"username": "x"})

    assert response.status_code == 403
    assert "Please send that again" in response.content.decode()
