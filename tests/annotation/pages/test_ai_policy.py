"""The study's word on AI assistants: where it is read, and what people say of it at the end."""

import pytest

from annotation.models import Annotator, CompletionCode
from studies.models import Study
from tests.annotation.pages.walking import answer_all, arrive, start
from tests.factories import make_items, make_study

pytestmark = pytest.mark.django_db

POLICY = "Please use **no** assistant. <script>alert(1)</script>"


def make_policy_study(policy: str = POLICY) -> Study:
    study = make_study(items_per_annotator=1, ai_policy=policy)
    make_items(study, 1)
    return study


def test_consent_instructions_and_items_say_the_policy_as_safe_text():
    study = make_policy_study()
    client = arrive(study)
    pages = [client.get(f"/s/{study.slug}/consent/")]
    client.post(f"/s/{study.slug}/consent/", {"consent": "yes"})
    pages.append(client.get(f"/s/{study.slug}/instructions/"))
    client.post(f"/s/{study.slug}/instructions/")
    pages.append(client.get(f"/s/{study.slug}/task/"))

    for page in pages:
        html = page.content.decode()
        assert "Please use <strong>no</strong> assistant." in html
        assert "<script>alert" not in html


def test_a_study_without_a_policy_asks_nothing_about_assistants():
    study = make_policy_study("")
    client = start(study)

    item = client.get(f"/s/{study.slug}/task/").content.decode()
    last = answer_all(client, study).content.decode()

    assert "AI assistant" not in item + last


@pytest.mark.parametrize("said", ["no", "some", "most", "unsaid", ""])
def test_whatever_people_declare_the_end_and_its_code_are_the_same(said):
    study = make_policy_study()
    client = start(study)
    last = answer_all(client, study).content.decode()
    assert "no consequence for your pay" in last
    assert "checked" not in last

    client.post(f"/s/{study.slug}/feedback/", {"comments": "", "ai_use": said})
    page = client.get(f"/s/{study.slug}/done/").content.decode()

    annotator = Annotator.objects.get()
    declared = annotator.events.filter(event="declaration").values_list("detail", flat=True)
    assert list(declared) == ([{"ai_use": said}] if said else [])
    assert annotator.state == "completed"
    assert CompletionCode.objects.get(study=study, ending="completed").code in page


def test_a_declaration_that_is_not_offered_is_refused_and_ends_nothing():
    study = make_policy_study()
    client = start(study)
    answer_all(client, study)

    response = client.post(f"/s/{study.slug}/feedback/", {"ai_use": "robot"})

    assert response.status_code == 422
    assert 'href="#ai_use-0"' in response.content.decode()
    assert Annotator.objects.get().state == "annotating"
