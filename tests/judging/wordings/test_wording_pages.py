"""The pages on which a study's wordings are read, written, checked and deleted."""

import pytest

from judging.models import Judge, JudgeRun, PromptTemplate
from judging.wordings import save_wording
from tests.factories import make_item, make_study, sign_in

pytestmark = pytest.mark.django_db
TEXT = "For {{ persona }}\n{{ question }}{{ response_a }} or {{ response_b }}? [["


@pytest.fixture
def study():
    study = make_study(slug="s")
    make_item(study=study, key="i1", question="Tea or {{ response_b }}?")
    return study


def saved(study, **changes):
    given = {"name": "short", "setting": "standard", "template": TEXT}
    return save_wording(study_id=study.pk, **given | changes)


def written(client, *, button="save", **changes):
    fields = {
        "name": "short",
        "setting": "standard",
        "template": TEXT.replace("\n", "\r\n"),
        "template_without_persona": " ",
        "note": "",
    }
    return client.post("/studies/s/judges/wordings/write/", fields | changes | {button: ""})


def test_an_editor_writes_a_wording_and_sees_its_prompts(study):
    client = sign_in(study)

    answer = written(client)

    wording = PromptTemplate.objects.get()
    assert answer.url == f"/studies/s/judges/wordings/{wording.public_id}/"
    assert (wording.template, wording.template_without_persona) == (TEXT, "")
    page = client.get(answer.url).content.decode()
    assert "Tea or {{ response_b }}?" in page
    assert wording.sha256 in page
    assert "/preview/task/?item=1" in page
    assert "can still be changed and deleted" in page


def test_checking_shows_prompts_and_saves_nothing(study):
    page = written(sign_in(study), button="check").content.decode()

    assert "All slots are right" in page
    assert "Tea or {{ response_b }}?" in page
    assert not PromptTemplate.objects.exists()


@pytest.mark.parametrize("button", ["check", "save"])
def test_a_wrong_slot_is_said_next_to_its_field(study, button):
    answer = written(sign_in(study), button=button, template="{{ respons_a }} {{ persona }}")

    page = answer.content.decode()
    assert answer.status_code == 422
    assert "There is no slot “respons_a”. Did you mean {{ response_a }}?" in page
    assert "would not see response B" in page
    assert not PromptTemplate.objects.exists()


def test_a_used_wording_is_frozen_and_its_change_is_the_next_version(study):
    wording = saved(study)
    judge = Judge.objects.create(name="j", model="m")
    JudgeRun.objects.create(study=study, judge=judge, key="k", seed=1, wording=wording)
    PromptTemplate.objects.update(frozen_at="2026-01-01T00:00:00Z")
    client = sign_in(study)

    client.post(f"/studies/s/judges/wordings/{wording.public_id}/", {"action": "delete"})
    answer = written(client, template=TEXT.replace("For", "About"))

    page = client.get(answer.url).content.decode()
    assert [each.version for each in PromptTemplate.objects.order_by("version")] == [1, 2]
    assert "Changes from version 1" in page
    assert "Removed: </span>For {{ persona }}" in page
    assert "Added: </span>About {{ persona }}" in page
    first = client.get(f"/studies/s/judges/wordings/{wording.public_id}/").content.decode()
    assert "Frozen" in first
    assert "Delete wording" not in first


def test_a_wording_of_another_study_is_not_found(study):
    other = saved(make_study(slug="other"))
    client = sign_in(study)

    assert client.get(f"/studies/s/judges/wordings/{other.public_id}/").status_code == 404
    page = client.get(f"/studies/s/judges/wordings/write/?like={other.public_id}").content.decode()
    assert TEXT not in page
