"""A new study from a page, and its settings: who may, what is refused, and what stays fixed."""

import pytest
from django.contrib.auth.models import Permission, User
from django.utils import timezone

from studies.models import Membership, Study
from studies.models.added_settings import added_fields
from studies.pages.settings_views import GROUPS, SettingsForm
from studies.services.presets import PRESETS
from studies.services.studies import create_study
from tests.factories import make_items, make_study

pytestmark = pytest.mark.django_db
NEW = "/studies/new/"


@pytest.fixture
def researcher(client) -> User:
    user = User.objects.create_user("researcher")
    user.user_permissions.add(Permission.objects.get(codename="add_study"))
    client.force_login(user)
    return user


def filled(client, address=NEW, **changes) -> dict:
    """What the form of a page would send, with some of it changed."""
    form = client.get(address).context["form"]
    sent = {field.html_name: field.value() for field in form}
    return {k: v for k, v in (sent | changes).items() if v is not None and v is not False}


def test_users_with_the_permission_create_a_draft_and_own_it(client, researcher):
    assert f'href="{NEW}"' in client.get("/studies/").text
    sent = filled(client, title="Everyday choices, again", licence="own texts")

    response = client.post(NEW, sent)

    study = Study.objects.get()
    assert study.source == {"licence": "own texts"}
    assert response["Location"] == "/studies/everyday-choices-again/"
    assert (study.slug, study.state, study.reward) == ("everyday-choices-again", "draft", 450)
    assert Membership.objects.get(study=study, user=researcher).role == "owner"
    assert study.log.get().user == researcher


def test_without_the_permission_there_is_neither_page_nor_button(client):
    client.force_login(User.objects.create_user("viewer"))

    assert client.get(NEW).status_code == 403
    assert client.post(NEW, {"title": "x"}).status_code == 403
    page = client.get("/studies/").content.decode()
    assert NEW not in page
    assert "Can add study" in page


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_fills_the_form_and_makes_such_a_study(client, researcher, name, settings):
    settings.EXTRAS_OF_NEW_STUDIES = []
    page = f"{NEW}?preset={name}"
    fields = filled(client, page, title="One", slug="one") | {"chosen": name}
    response = client.post(NEW, fields)

    assert response.status_code == 302
    study = Study.objects.get()
    assert {key: getattr(study, key) for key in PRESETS[name].settings} == PRESETS[name].settings


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"title": ""}, "Title: This field is required."),
        ({"slug": "a b"}, "Short name: Enter a valid “slug”"),
        ({"slug": "taken"}, "There is already a study “taken”"),
        ({"slug": "new"}, "“new” is an address of this site"),
        ({"title": "—", "slug": ""}, "Short name: Enter a short name"),
        ({"minutes": "0"}, "Duration in minutes: Ensure this value is greater than or equal to 1."),
        ({"pay": "4.505"}, "no more than 2 decimal places"),
        ({"currency": "dollars"}, "Currency: "),
        ({"equivalence_margin": "0.9"}, "less than or equal to 0.5"),
    ],
)
def test_invalid_settings_are_reported_and_nothing_is_created(client, researcher, changes, words):
    make_study(slug="taken")

    response = client.post(NEW, filled(client, slug="one") | {"title": "One"} | changes)

    assert response.status_code == 422
    page = response.content.decode()
    assert words in page
    assert "There is a problem" in page
    assert Study.objects.count() == 1


def test_a_preset_changes_only_what_was_left_as_it_was(client, researcher):
    typed = {"title": "Mine", "minutes": "77", "items_per_annotator": "many"}
    sent = filled(client, f"{NEW}?preset=pilot") | {"chosen": "pilot", **typed}

    page = client.post(NEW, sent | {"preset": "class"})

    assert page.status_code == 200
    assert not Study.objects.exists()
    shown = {field.name: field.value() for field in page.context["form"]}
    assert {name: str(shown[name]) for name in typed} == typed
    assert (shown["entry"], str(shown["pay"])) == ("link", "0.00")
    assert shown["annotations_per_item"] == 3  # the pilot's 2 was left as it was
    assert 'aria-pressed="true"><strong>Class or lab' in page.text


def test_after_an_error_the_page_keeps_what_was_typed_and_names_the_stored_study(client, study):
    page = client.post(SETTINGS, filled(client, SETTINGS) | {"title": "New name", "minutes": "no"})

    assert page.status_code == 422
    assert 'value="New name"' in page.text
    assert 'value="no"' in page.text
    assert f"Settings of {study.title}" in page.text
    assert page.text.count("Enter a whole number.") == 2  # above the form, and at the field


def test_every_setting_of_a_group_is_in_the_form():
    form = SettingsForm(instance=Study())
    shown = [name for _, names in GROUPS for name in names]

    assert sorted([*shown, *added_fields(), "version"]) == sorted(form.fields)
    elsewhere = {"state", "source", "reward", "id", "created_at", "extras"}
    fields = {field.name for field in Study._meta.concrete_fields if field.editable}
    assert fields - elsewhere == set(shown) - {"pay", "licence"}


@pytest.fixture
def study(researcher) -> Study:
    return create_study(slug="one", owner=researcher, title="One")


SETTINGS = "/studies/one/settings/"


def test_an_editor_changes_settings_and_the_seats_follow(client, study):
    make_items(study, 3)

    response = client.post(
        SETTINGS, filled(client, SETTINGS, annotations_per_item="5", pay="3.40", currency="gbp")
    )

    assert response["Location"] == "/studies/one/"
    study.refresh_from_db()
    assert (study.annotations_per_item, study.reward, study.currency) == (5, 340, "GBP")
    assert set(study.all_items.values_list("seats_needed", flat=True)) == {5}
    assert study.log.first().detail["fields"] == ["annotations_per_item", "currency", "reward"]


def test_the_licence_of_the_items_is_kept_with_their_source(client, study):
    released = {"name": "Set", "redistribution": "forbidden", "retest_agreement": 0.8}
    Study.objects.update(source=released | {"licence": "MIT", "licence_url": "https://mit.example"})
    client.post(SETTINGS, filled(client, SETTINGS, minutes="9"))
    study.refresh_from_db()
    assert study.source["licence_url"] == "https://mit.example"

    client.post(SETTINGS, filled(client, SETTINGS, licence=" CC BY 4.0 "))
    study.refresh_from_db()
    assert study.source == released | {"licence": "CC BY 4.0"}
    assert study.log.first().detail["fields"] == ["source"]

    client.post(SETTINGS, filled(client, SETTINGS, licence=""))
    study.refresh_from_db()
    assert study.source == released


def test_settings_that_answers_depend_on_and_the_short_name_are_fixed(client, study):
    Study.objects.update(frozen_at=timezone.now(), state=Study.State.OPEN)

    page = client.get(SETTINGS).content.decode()
    changes = {"consent": "Other", "minutes": "25", "slug": "other"}
    refused = client.post(SETTINGS, filled(client, SETTINGS) | changes)
    client.post(SETTINGS, filled(client, SETTINGS) | changes | {"consent": ""})

    study.refresh_from_db()
    assert "these settings can no longer change" in page
    assert refused.status_code == 422
    assert "can no longer change: Consent text. Nothing was saved." in refused.content.decode()
    assert (study.consent, study.minutes, study.slug) == ("", 25, "one")


@pytest.mark.nightly
def test_of_two_editors_the_second_sees_what_the_first_has_changed(client, study):
    mine = filled(client, SETTINGS, title="Mine")
    client.post(SETTINGS, filled(client, SETTINGS, title="Theirs", minutes="12"))

    response = client.post(SETTINGS, mine)

    page = response.content.decode()
    assert response.status_code == 422
    assert "Someone else changed" in page
    assert "<td>Theirs</td><td>Mine</td>" in page
    assert "<td>12</td><td>20</td>" in page
    assert Study.objects.get().title == "Theirs"


def test_saving_again_after_that_is_a_choice(client, study):
    mine = filled(client, SETTINGS, title="Mine")
    client.post(SETTINGS, filled(client, SETTINGS, title="Theirs"))
    refused = client.post(SETTINGS, mine)

    form = refused.context["form"]
    client.post(SETTINGS, mine | {"version": form["version"].value()})

    assert Study.objects.get().title == "Mine"


def test_viewers_read_the_settings_and_do_not_change_them(client, study):
    viewer = User.objects.create_user("viewer")
    Membership.objects.create(user=viewer, study=study, role="viewer")
    client.force_login(viewer)

    page = client.get(SETTINGS)

    assert page.status_code == 200
    assert "Save settings" not in page.text
    assert all(field.disabled for field in page.context["form"].fields.values())
    assert client.post(SETTINGS, {"title": "x"}).status_code == 404
