"""The administration: lists that work, and nothing to break a study with."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from studies.errors import FrozenStudy
from studies.models import Study
from studies.models.added_settings import added_fields, read_added
from studies.services.settings import save_settings
from studies.services.studies import freeze
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client):
    client.force_login(User.objects.create_superuser("root"))
    return client


def fields(admin, study):
    response = admin.get(reverse("admin:studies_study_change", args=[study.pk]))
    return set(response.context["adminform"].form.fields)


def test_every_list_opens_with_a_fixed_number_of_questions(admin, django_assert_max_num_queries):
    study = make_study()
    for split in ("main", "practice", "main", "main"):
        make_item(study=study, split=split)

    for name in ("study", "item", "persona", "featureset", "studylog"):
        with django_assert_max_num_queries(12):
            response = admin.get(reverse(f"admin:studies_{name}_changelist"))
        assert response.status_code == 200
    items = admin.get(reverse("admin:studies_item_changelist")).content.decode()
    assert "4 items" in items


def test_a_frozen_study_keeps_what_people_have_seen(admin):
    study = make_study()
    assert {"consent", "task", "reward"} <= fields(admin, study)

    freeze(study.pk)

    assert "reward" in fields(admin, study)
    assert not {"consent", "task", "instructions", "allow_tie"} & fields(admin, study)


def edit(admin, study, **changes):
    """Send the form of a study as it stands, with `changes`."""
    address = reverse("admin:studies_study_change", args=[study.pk])
    form = admin.get(address).context["adminform"].form
    values = {name: "" if (v := form.initial.get(name)) is None else v for name in form.fields}
    values["source"] = "{}"
    inline = {"memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}
    sent = {name: value for name, value in values.items() if value is not False}
    return admin.post(address, sent | inline | changes, follow=True)


def test_more_answers_per_item_open_more_seats_and_leave_a_trace(admin):
    study = make_study(annotations_per_item=3)
    item = make_item(study=study)

    edit(admin, study, annotations_per_item=5)

    item.refresh_from_db()
    study.refresh_from_db()
    assert (item.seats_needed, study.annotations_per_item, study.version) == (5, 5, 2)
    assert study.log.get().detail == {
        "fields": ["annotations_per_item"],
        "before": {"annotations_per_item": 3},
        "after": {"annotations_per_item": 5},
    }


def test_settings_of_extras_are_edited_too(admin):
    study = make_study(perspective="own")
    changes = {name: field.default + 1 for name, field in added_fields().items()}

    edit(admin, study, minutes=15, **changes)

    stored = Study.objects.get()
    assert (stored.minutes, read_added(stored)) == (15, changes)
    assert study.log.get().detail["fields"] == sorted(["minutes", *changes])


def test_an_edit_that_comes_after_the_first_answer_is_refused():
    study = make_study(consent="Before.")
    freeze(study.pk)
    study.consent = "After."

    with pytest.raises(FrozenStudy, match="cannot change: consent"):
        save_settings(study, changed=["consent", "minutes"])

    study.refresh_from_db()
    assert (study.consent, study.version) == ("Before.", 1)


@pytest.mark.nightly
def test_new_wording_changes_the_content_hash_and_new_pay_does_not(admin):
    study = make_study()
    edit(admin, study, minutes=10)
    first = Study.objects.get().content_hash
    edit(admin, study, minutes=12, reward=900)

    assert Study.objects.get().content_hash == first
    edit(admin, study, consent="I agree.")
    assert Study.objects.get().content_hash != first


def test_the_state_and_the_name_of_a_study_are_not_edited_by_hand(admin):
    assert not {"state", "slug", "seed", "frozen_at"} & fields(admin, make_study())


def test_items_and_personas_are_read_only(admin):
    item = make_item(study=make_study())

    for name, pk in (("item", item.pk), ("persona", item.persona_id)):
        address = reverse(f"admin:studies_{name}_change", args=[pk])
        assert admin.get(address).status_code == 200
        assert admin.post(address, {"key": "changed"}).status_code == 403
        assert admin.get(reverse(f"admin:studies_{name}_add")).status_code == 403


def test_studies_cannot_be_deleted_there(admin):
    study = make_study()

    response = admin.post(reverse("admin:studies_study_delete", args=[study.pk]), {"post": "yes"})

    assert response.status_code == 403
    assert Study.objects.count() == 1
