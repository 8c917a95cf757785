"""The consent text can be kept on paper, and refusing weighs as much as agreeing."""

import re

import pytest

from annotation import services
from annotation.content.texts import consent_text
from annotation.models import Annotator
from tests.annotation.pages.walking import PID, arrive, start
from tests.factories import make_items, make_study

pytestmark = pytest.mark.django_db


def test_a_copy_of_the_text_can_be_kept_before_the_decision():
    study = make_study(consent="You **agree** to everything.")
    client = arrive(study)

    consent = client.get(f"/s/{study.slug}/consent/").content.decode()
    copy = client.get(f"/s/{study.slug}/consent/copy/").content.decode()

    assert f'href="/s/{study.slug}/consent/copy/"' in consent
    assert "You <strong>agree</strong> to everything." in copy
    assert consent_text(study).version[:12] in copy
    assert Annotator.objects.get().state == "arrived"


def test_it_says_who_asks_where_answers_are_kept_and_who_approved():
    study = make_study(researchers="Ada <L>", storage="In the EU", ethics="Board 7", language="de")

    html = arrive(study).get(f"/s/{study.slug}/consent/").content.decode()

    for name, value in (
        ("Wer fragt", "Ada &lt;L&gt;"),
        ("Wo und wie lange Ihre Antworten aufbewahrt werden", "In the EU"),
        ("Ethikvotum", "Board 7"),
    ):
        assert f"<dt>{name}</dt>\n    <dd>{value}</dd>" in html
    assert consent_text(study).version != consent_text(make_study(language="de")).version


def test_the_copy_is_there_after_the_end_too_and_says_when_the_text_has_changed():
    study = make_study(items_per_annotator=1)
    make_items(study, 1)
    client = start(study)
    agreed = Annotator.objects.get().consent_version
    services.withdraw(annotator_id=Annotator.objects.get().pk)
    url = f"/s/{study.slug}/consent/copy/"
    assert "has changed" not in client.get(url).content.decode()
    study.reward += 100
    study.save()

    page = client.get(url).content.decode()

    assert "The text has changed since you agreed" in page
    assert agreed[:12] in page
    assert consent_text(study).version[:12] in page


def test_refusing_weighs_as_much_as_agreeing():
    study = make_study()
    html = arrive(study).get(f"/s/{study.slug}/consent/").content.decode()

    buttons = re.findall(r'<button type="submit" class="([^"]+)" name="consent"', html)

    assert buttons == ["button-secondary"] * 2


def test_before_the_consent_nothing_is_stored_but_how_the_person_came():
    study = make_study()

    arrive(study)

    annotator = Annotator.objects.get()
    stored = {
        field.name
        for field in Annotator._meta.concrete_fields
        if getattr(annotator, field.attname) not in (None, "", False, {})
    }
    assert stored == {
        "id",
        "study",
        "pseudonym",
        "identity_hash",
        "state",
        "seed",
        "created_at",
        "expires_at",
    }
    identity = annotator.prolific_identity
    assert (identity.pid, identity.study_id, identity.session_ids) == (PID, "st1", ["se1"])
    assert list(annotator.events.values_list("event", "after", "detail")) == [
        ("state", "arrived", {})
    ]
    assert not annotator.assignments.exists()
