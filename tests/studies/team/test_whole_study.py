"""Copying, archiving and deleting a study."""

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission, User
from django.db import models

from analysis.models import Report
from annotation.models import Annotation, Annotator, ProlificStudy, QuotaGroup
from judging.models import JudgeRun, Judgment
from studies.models import Item, Membership, Persona, Study, StudyLog
from studies.services.studies import create_study
from studies.services.whole_studies import copy_study
from tests.factories import answer_all, make_item, make_items, make_study, walk_in
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import start

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    """A closed study with an attention check, a quota, answers, a run and a report."""
    study = make_study(slug="s", items_per_annotator=3)
    make_items(study, 3)
    make_item(study=study, split="attention_check", check_answer="r1")
    QuotaGroup.objects.create(study=study, criteria={}, is_everyone_else=True, target=5)
    answer_all(walk_in(study))
    run = start(study, make_judge(base_url="http://127.0.0.1:9/v1"))
    JudgeRun.objects.filter(pk=run.pk).update(state="cancelled", sentence="Cancelled.")
    Report.objects.create(study=study, number=1, threshold=80, bootstrap=100, seed=1)
    Report.objects.update(state="failed", message="No.")
    Study.objects.filter(pk=study.pk).update(state="closed")
    study.refresh_from_db()
    return study


def owner_of(study):
    user = User.objects.create_user("owner")
    user.user_permissions.add(Permission.objects.get(codename="add_study"))
    Membership.objects.create(study=study, user=user, role="owner")
    return user


def test_a_copy_has_the_items_and_settings_and_no_answers(study, client):
    client.force_login(owner_of(study))

    response = client.post(
        "/studies/s/whole/",
        {"action": "copy", "title": "Again", "slug": "again", "with_items": "on"},
    )

    copy = Study.objects.get(slug="again")
    assert response["Location"] == "/studies/again/"
    assert (copy.state, copy.title, copy.frozen_at, copy.version) == ("draft", "Again", None, 1)
    assert copy.items_per_annotator == study.items_per_annotator
    assert copy.export_key != study.export_key
    assert copy.seed != study.seed
    old, new = (Item.everything.filter(study=s).order_by("key") for s in (study, copy))
    contents = ("key", "split", "question", "r1", "r2", "persona__key", "content_hash")
    assert list(new.values(*contents)) == list(old.values(*contents))
    assert {item.persona.study_id for item in new} == {copy.pk}
    taken = new.values_list("seats_taken", "answered")
    assert set(taken) == {(0, 0)}
    assert copy.content_hash
    assert copy.quota_groups.get().target == 5
    assert not Annotator.objects.filter(study=copy).exists()
    assert [m.role for m in copy.memberships.all()] == ["owner"]


def test_a_copy_of_some_items_has_no_faulty_ones_and_no_reference_to_one():
    study = make_study()
    faulty = make_item(study=study, split="left_out")
    kept = make_item(study=study, metadata={"_replaces": faulty.key, "source": "a"})
    make_item(study=study)

    copy = copy_study(
        study_id=study.pk, slug="some", title="Some", with_items=True, only={kept.key: {}}
    )

    found = Item.everything.filter(study=copy).values_list("key", "metadata")
    assert list(found) == [(kept.key, {"source": "a"})]


def test_a_copy_without_items(study):
    copy = copy_study(study_id=study.pk, slug="again", title="Again", with_items=False)

    assert not Item.everything.filter(study=copy).exists()
    assert not Persona.objects.filter(study=copy).exists()
    assert copy.quota_groups.count() == 1


def test_a_taken_name_is_refused_next_to_the_field(study, client):
    client.force_login(owner_of(study))

    response = client.post("/studies/s/whole/", {"action": "copy", "title": "Again", "slug": "s"})

    assert response.status_code == 422
    assert "already a study" in response.content.decode()


def test_an_archived_study_is_hidden_and_comes_back(study, client):
    client.force_login(owner_of(study))

    client.post("/studies/s/whole/", {"action": "archive"})

    assert list(client.get("/studies/").context["page"].object_list) == []
    assert list(client.get("/studies/?state=archived").context["page"].object_list) == [study]
    assert client.get("/studies/s/").status_code == 200
    client.post("/studies/s/", {"action": "state", "state": "open"})
    study.refresh_from_db()
    assert study.state == "closed"
    client.post("/studies/s/whole/", {"action": "archive"})
    assert list(client.get("/studies/").context["page"].object_list) == [study]


def test_an_open_study_is_not_archived(study, client):
    client.force_login(owner_of(study))
    Study.objects.update(state="open")

    page = client.post("/studies/s/whole/", {"action": "archive"}, follow=True)

    assert "Close the study before" in page.content.decode()
    assert Study.objects.get().archived_at is None


@pytest.mark.nightly
def test_deletion_needs_the_archive_and_the_typed_name(study, client):
    client.force_login(owner_of(study))
    refused = client.post("/studies/s/whole/", {"action": "delete", "confirmation": "s"})
    assert (refused.status_code, Study.objects.count()) == (422, 1)
    client.post("/studies/s/whole/", {"action": "archive"})
    counts = dict(client.get("/studies/s/whole/").context["content"].counts)
    assert (counts["items"], counts["annotators"], counts["answers"]) == (4, 1, 4)
    assert (counts["judge runs"], counts["judgments"], counts["reports"]) == (1, 3, 1)

    wrong = client.post("/studies/s/whole/", {"action": "delete", "confirmation": "other"})
    assert (wrong.status_code, Study.objects.count()) == (422, 1)

    response = client.post("/studies/s/whole/", {"action": "delete", "confirmation": "s"})
    assert response["Location"] == "/studies/"
    assert not Study.objects.exists()


def of_a_study():
    """Every model whose rows belong to one study."""

    def leads_there(model, seen):
        parents = [
            field.related_model
            for field in model._meta.fields
            if isinstance(field, models.ForeignKey) and field.related_model not in seen
        ]
        return Study in parents or any(leads_there(p, {*seen, model}) for p in parents)

    return [
        model for model in apps.get_models(include_auto_created=True) if leads_there(model, set())
    ]


def test_deletion_removes_all_of_the_study_and_nothing_else(study, client, settings):
    folder = settings.VAR_DIR / "reports" / Report.objects.get().public_id
    folder.mkdir(parents=True)
    other = make_study(slug="other", items_per_annotator=3)
    make_items(other, 3)
    answer_all(walk_in(other))
    user = owner_of(study)
    client.force_login(user)
    before = {model: model._base_manager.count() for model in of_a_study()}
    assert {Annotation, Judgment, StudyLog, Membership} <= set(before)

    client.post("/studies/s/whole/", {"action": "archive"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.db.transaction.on_commit", lambda then: then())
        client.post("/studies/s/whole/", {"action": "delete", "confirmation": "s"})

    assert Study.objects.get() == other
    assert Annotation.objects.count() == 3
    assert Item.everything.filter(study=other).count() == Item.everything.count() == 3
    assert not Judgment.objects.exists()
    assert not folder.exists()


def test_unfinished_work_prevents_deletion(study, client):
    client.force_login(owner_of(study))
    client.post("/studies/s/whole/", {"action": "archive"})
    JudgeRun.objects.update(state="running", sentence="")
    ProlificStudy.objects.create(study=study, status="AWAITING REVIEW")
    Report.objects.update(state="running")

    response = client.post("/studies/s/whole/", {"action": "delete", "confirmation": "s"})

    page = response.content.decode()
    assert response.status_code == 422
    for words in ("not completed on Prolific", "run is not finished", "is being created"):
        assert words in page
    assert Study.objects.count() == 1


def test_a_draft_without_answers_is_deleted_at_once(client):
    user = User.objects.create_user("owner")
    client.force_login(user)
    create_study(slug="draft", owner=user)

    client.post("/studies/draft/whole/", {"action": "delete", "confirmation": "draft"})

    assert not Study.objects.exists()
