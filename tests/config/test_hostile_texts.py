"""Markup in every text that researchers can type is text on every page."""

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from annotation.models import ComprehensionQuestion, DemographicQuestion
from judging.models import Judge, PromptTemplate
from studies.models import Membership, Study, TeamInvitation
from tests.config.test_hostile_requests import LEFT_OUT, ROUTES, path
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db

# One element that would run, ends of all surroundings, and what templates and formats would read.
MARKUP = "</script></title></textarea>\"'><img src=x onerror=alert(1)>{{ 7 }}%(x)s"
SLOTLESS = MARKUP.replace("{{ 7 }}", "")  # a wording refuses slots that do not exist
ALIVE = re.compile(r"<img src=x")


@pytest.fixture
def study() -> Study:
    study = make_study(slug="s", state="draft", title=f"T {MARKUP}")
    advice = {"kind": "advice", "title": f"Said {MARKUP}", "text": MARKUP, "favors": "r1"}
    make_item(study=study, key="item-1", advice=advice)
    return study


@pytest.fixture
def owner(study: Study) -> Client:
    user = User.objects.create_superuser("owner")
    Membership.objects.create(user=user, study=study, role="owner")
    client = Client()
    client.force_login(user)
    return client


def post(client: Client, address: str, **data: str) -> None:
    response = client.post(f"/studies/s/{address}", data)
    faults = re.findall(r'class="error[^>]*>.*?</\w+>', response.text, re.DOTALL)
    assert response.status_code in (200, 302), f"{address}: {response.status_code} {faults}"
    assert not ALIVE.search(response.text), address


@pytest.fixture
def typed(owner: Client, study: Study) -> None:
    """Every form of the workbench, filled in with markup and saved."""
    questions = {"question-rows": "1", "question-0-key": "", "question-0-label": MARKUP}
    post(
        owner,
        "people/places/questions/",
        do="save",
        **questions,
        **{"question-0-options": f"A {MARKUP}\nB {MARKUP}"},
    )
    quiz = {f"quiz-0-{name}": f"{name} {MARKUP}" for name in ("text", "pointer")}
    quiz |= {f"quiz-0-option-{n}": f"{n} {MARKUP}" for n in (0, 1)}
    post(owner, "people/checks/", do="save", **{"quiz-rows": "1", "quiz-0-right": "0"}, **quiz)
    key = DemographicQuestion.objects.get(study=study).key
    post(owner, "people/places/quota/", do="save", q=key, **{"everyone-else": "5", "target-0": "5"})
    post(
        owner,
        "judges/available/add/",
        name=f"J {MARKUP}",
        model=MARKUP,
        base_url="http://127.0.0.1:9/v1",
        key_from="none",
        **_judge_defaults(owner),
    )
    post(owner, "team/", action="invite", role="viewer", note=MARKUP)
    post(owner, "whole/", action="copy", title=f"Copy {MARKUP}", slug="copy")
    texts = owner.get("/studies/s/people/texts/").context["form"]
    written = {field.name: f"{field.name} {MARKUP}" for field in texts}
    written |= {"contact": "a@b.example", "version": str(texts["version"].value())}
    post(owner, "people/texts/", do="save", **written)
    post(
        owner,
        "judges/wordings/write/",
        save="yes",
        name="plain",
        setting="standard",
        note=MARKUP,
        template=f"{{{{ persona }}}} {{{{ response_a }}}} {{{{ response_b }}}} {SLOTLESS} [[",
    )
    post(owner, "providers/", action="decide", decision="confirm", reason=MARKUP)
    assert PromptTemplate.objects.get(name="plain").note == MARKUP
    assert Study.objects.get(slug="s").consent.endswith(MARKUP)
    assert ComprehensionQuestion.objects.get(study=study).pointer.endswith(MARKUP)
    assert Judge.objects.get().model == TeamInvitation.objects.get().note == MARKUP
    assert Study.objects.get(slug="copy").title.endswith(MARKUP)


def _judge_defaults(owner: Client) -> dict[str, str]:
    """What the form of a judge shows before anybody types."""
    form = owner.get("/studies/s/judges/available/add/").context["form"]
    own = {"name", "model", "base_url", "key_from"}
    shown = {field.name: field.value() for field in form if field.name not in own}
    return {name: str(value) for name, value in shown.items() if value not in ("", None)}


def pages(owner: Client) -> Iterator[tuple[str, str]]:
    """Every page and file that can be opened, as text."""
    judge = Judge.objects.get()
    known = {"slug": "s", "key": "item-1", "judge_id": str(judge.pk), "step": "about"}
    for route in ROUTES:
        if route in LEFT_OUT or route.startswith("admin/"):
            continue
        with transaction.atomic():
            response = owner.get(path(route, known))
            transaction.set_rollback(True)
        if response.status_code == 200 and not response.streaming:
            yield route, response.text


def test_markup_is_text_on_every_page(typed, owner):
    found = dict(pages(owner))

    assert [route for route, text in found.items() if ALIVE.search(text)] == []
    shown = {route for route, text in found.items() if "&lt;img src=x" in text}
    assert shown >= {
        "studies/",
        "studies/<slug>/",
        "studies/<slug>/items/<key>/",
        "studies/<slug>/judges/available/",
        "studies/<slug>/judges/available/<judge_id>/",
        "studies/<slug>/judges/new/",
        "studies/<slug>/people/checks/",
        "studies/<slug>/people/places/",
        "studies/<slug>/people/places/questions/",
        "studies/<slug>/people/places/quota/",
        "studies/<slug>/team/",
        "s/<slug>/preview/<step>/",
    }


def test_an_invited_id_of_markup_is_refused_as_text(owner, study):
    Study.objects.filter(pk=study.pk).update(entry="list")

    refused = owner.post("/studies/s/people/invitations/", {"ids": MARKUP})

    assert refused.status_code == 422
    assert not ALIVE.search(refused.text)
    assert "&lt;img src=x" in refused.text
