"""A form that a page does not have does nothing, and says so: never what another button does."""

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.urls import URLResolver, get_resolver

from studies.models import Membership, Study
from studies.pages.addressed import UnknownButton, form_views, pressed
from tests.factories import make_study

pytestmark = pytest.mark.django_db
SENTENCE = "so nothing was done. Go back, reload the page and choose again."


@pytest.fixture
def study():
    return make_study(slug="s")


@pytest.fixture
def owner(study):
    user = User.objects.create_user("owner")
    Membership.objects.create(user=user, study=study, role=Membership.Role.OWNER)
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def pages(resolver: URLResolver):
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from pages(entry)
        elif form_views(entry.callback):
            yield entry.callback


def test_every_page_with_several_forms_refuses_another():
    several = list(pages(get_resolver()))
    request = RequestFactory().post("/", {"action": "pay twice"})

    assert len(several) > 20
    for page in several:
        with pytest.raises(UnknownButton):
            page(request, slug="s")


@pytest.mark.parametrize(
    "address", ["people/prolific/bonuses", "people/prolific/accounts", "people/places", "team"]
)
def test_the_refusal_says_what_to_do(owner, address):
    response = owner.post(f"/studies/s/{address}/", {"action": "pay twice"})

    assert response.status_code == 400
    assert SENTENCE in response.text


@pytest.mark.parametrize("address", ["settings", "exports"])
def test_no_other_button_is_taken_for_the_main_one(owner, study, address):
    sent = {"action": "stale"} if address == "exports" else {"title": "Other"}

    response = owner.post(f"/studies/s/{address}/", {**sent, "do": "later"})

    assert response.status_code == 400
    assert SENTENCE in response.text
    assert Study.objects.get().title == study.title


@pytest.mark.parametrize("button", ["", "save"])
def test_a_known_button_and_none_are_taken(button):
    request = RequestFactory().post("/", {"do": button})

    assert pressed(request, "do", "save") == button
