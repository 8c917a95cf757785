"""A person at a browser without JavaScript: reads the form that a page shows, and sends it."""

import re
from html import unescape
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.test import Client

from annotation import services
from annotation.content.texts import consent_text
from annotation.participants.access import bind
from studies.models import Study
from tests.factories import make_items, make_study

PID = "5f1d3b2c4a6e7d8091a2b3c4"


def entry_url(study: Study, pid: str = PID) -> str:
    return f"/s/{study.slug}/?PROLIFIC_PID={pid}&STUDY_ID=st1&SESSION_ID=se1"


def arrive(study: Study, pid: str = PID, client: Client | None = None) -> Client:
    """Open the link; the client then stands where the person stands."""
    client = client or Client()
    client.get(entry_url(study, pid), follow=True)
    return client


def start(study: Study, pid: str = PID, client: Client | None = None) -> Client:
    """The browser of somebody who has gone on to what comes after the instructions.

    Of a study that asks nothing about the person. `arrive` goes through the pages themselves.
    """
    client = client or Client()
    now = Study.objects.get(pk=study.pk)
    annotator = services.enter(study=now, pid=pid, prolific_study_id="st1", session_id="se1")
    text = consent_text(annotator.study)
    annotator = services.consent(annotator_id=annotator.pk, version=text.version, text=text)
    annotator = services.finish_instructions(annotator_id=annotator.pk)
    client.cookies.update(bind(HttpRequest(), HttpResponse(), annotator).cookies)
    return client


def begun(items: int = 1, **fields: Any) -> tuple[Study, Client]:
    """A study of so many items for each, and somebody at the first of them."""
    study = make_study(items_per_annotator=items, **fields)
    make_items(study, items, task=study.task)
    return study, start(study)


def item_page(client: Client, study: Study) -> Any:
    return client.get(f"/s/{study.slug}/task/")


def token_of(response: Any) -> str:
    match = re.search(r'name="assignment" value="([^"]+)"', response.content.decode())
    assert match, "the page has no assignment"
    return unescape(match[1])


def post_answer(client: Client, page: Any, url: str = "", **fields: Any) -> Any:
    """Send the form of an item page; a field that is None is left out."""
    data = {"assignment": token_of(page), "choice": "a", "certainty": "72"} | fields
    sent = {name: value for name, value in data.items() if value is not None}
    return client.post(url or page.request["PATH_INFO"], sent)


def answer_all(client: Client, study: Study) -> Any:
    """Answer item after item and return the page after the last one."""
    page = client.get(f"/s/{study.slug}/task/")
    while page.status_code == 200:
        answered = post_answer(client, page)
        assert answered.status_code == 303
        page = client.get(answered["Location"])
        if answered["Location"].endswith("/feedback/"):
            return page
    raise AssertionError(f"the way ended with status {page.status_code}")
