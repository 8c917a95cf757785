"""The admin shows people and answers, and lets nobody break a study."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotation.models import Annotation, Annotator, ProlificStudy, QuotaGroup
from tests.annotation.grids import make_grid
from tests.factories import answer_all, walk_in

pytestmark = pytest.mark.django_db

MODELS = [
    "annotator",
    "assignment",
    "annotation",
    "completioncode",
    "prolificstudy",
    "demographicquestion",
    "quotagroup",
    "invitation",
]


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="x"))
    return client


@pytest.fixture
def annotator() -> Annotator:
    study = make_grid()
    ProlificStudy.objects.create(study=study, prolific_id="x")
    annotator = walk_in(study, "5f" * 12, gender="woman", politics="democrat")
    answer_all(annotator)
    return annotator


def test_every_list_opens_and_shows_no_platform_id(admin, annotator):
    for model in MODELS:
        response = admin.get(reverse(f"admin:annotation_{model}_changelist"))
        assert response.status_code == 200
        assert "5f" * 12 not in response.content.decode(), model


@pytest.mark.parametrize("model", ["annotator", "assignment", "annotation"])
def test_people_and_answers_are_read_only(model, admin, annotator):
    row = {
        "annotator": annotator,
        "assignment": annotator.assignments.first(),
        "annotation": Annotation.objects.first(),
    }[model]
    change = reverse(f"admin:annotation_{model}_change", args=[row.pk])

    assert admin.get(change).status_code == 200
    assert annotator.identity_hash not in admin.get(change).content.decode()
    assert admin.post(change, {"choice": "r2"}).status_code == 403
    assert admin.post(reverse(f"admin:annotation_{model}_add")).status_code == 403
    delete = reverse(f"admin:annotation_{model}_delete", args=[row.pk])
    assert admin.post(delete, {"post": "yes"}).status_code == 403


def test_groups_can_be_edited_until_somebody_has_entered(admin):
    study = make_grid()
    cell = study.quota_groups.first()
    address = reverse("admin:annotation_quotagroup_change", args=[cell.pk])
    form = {"study": study.pk, "criteria": '{"gender": "woman"}', "target": 9, "position": 1}

    before = admin.post(address, form).status_code
    walk_in(study, gender="man", politics="democrat")
    after = admin.post(address, form | {"target": 1}).status_code

    assert (before, after) == (302, 403)
    assert QuotaGroup.objects.get(pk=cell.pk).target == 9
