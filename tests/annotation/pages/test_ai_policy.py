"""The study's word on AI assistants: where it is read, and what people say of it at the end."""

import pytest
from django.test import Client

from annotation.models import Annotation, Annotator, CompletionCode
from studies.models import Study
from tests.annotation.pages.walking import answer_all, arrive, post_answer, start
from tests.factories import make_items, make_study

pytestmark = pytest.mark.django_db

POLICY = "Please use **no** assistant. <script>alert(1)</script>"


def make_policy_study(policy: str = POLICY) -> Study:
    study = make_study(items_per_annotator=1, ai_policy=policy)
    make_items(study, 1)
    return study


def test_consent_instructions_and_items_show_the_policy_as_safe_text():
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


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("said", ["no", "most", ""])
def test_the_declaration_changes_neither_the_ending_nor_its_code(said):
    study = make_policy_study()
    client = start(study)
    last = answer_all(client, study).content.decode()
    assert "does not affect your pay" in last
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


def begun_by(study: Study, **later: object) -> Client:
    """The browser of somebody who agreed, by the pages, before settings became other ones."""
    client = arrive(study)
    client.post(f"/s/{study.slug}/consent/", {"consent": "yes"})
    client.post(f"/s/{study.slug}/instructions/")
    Study.objects.filter(pk=study.pk).update(**later)
    return client


def test_pages_keep_showing_the_policy_that_an_annotator_agreed_to():
    study = make_policy_study()
    client = begun_by(study, ai_policy="Use *any* assistant.")

    item = client.get(f"/s/{study.slug}/task/").content.decode()
    last = answer_all(client, study).content.decode()
    later = arrive(study, "2" * 24).get(f"/s/{study.slug}/consent/").content.decode()
    again = client.get(f"/s/{study.slug}/instructions/").content.decode()

    for html in (item, again):
        assert "Please use <strong>no</strong> assistant." in html
        assert "any</em> assistant" not in html
    assert "Use <em>any</em> assistant." in later
    assert "Did an AI assistant help" in last


@pytest.mark.parametrize("at_first", [True, False])
def test_an_annotator_keeps_the_rule_on_changing_answers_that_they_agreed_to(at_first):
    study = make_study(items_per_annotator=2, allow_changes=at_first)
    make_items(study, 2)
    client = begun_by(study, allow_changes=not at_first)
    first = client.get(f"/s/{study.slug}/task/")
    post_answer(client, first)
    second = client.get(f"/s/{study.slug}/task/").content.decode()

    back = client.get(f"/s/{study.slug}/task/1/")
    post_answer(client, first, f"/s/{study.slug}/task/1/", certainty="33")

    assert (f'href="/s/{study.slug}/task/1/"' in second) is at_first
    assert (back.status_code == 200) is at_first
    assert Annotation.objects.get().certainty == (33 if at_first else 72)
    assert ("go back and change them" in second) is at_first
