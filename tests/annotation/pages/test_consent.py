"""The consent text can be kept on paper, and refusing weighs as much as agreeing."""

import re

import pytest

from annotation import services
from annotation.content.consent_versions import (
    PromisedPay,
    promised,
    sum_in_words,
)
from annotation.content.texts import consent_text
from annotation.models import Annotator, ConsentVersion
from annotation.prolific.launch.launch_plan import description
from studies.models import Study
from tests.annotation.pages.walking import PID, arrive, begun, start
from tests.factories import make_items, make_study, sign_in

pytestmark = pytest.mark.django_db


def test_it_states_the_researchers_the_storage_and_the_approval():
    study = make_study(researchers="Ada <L>", storage="In the EU", ethics="Board 7", language="de")

    html = arrive(study).get(f"/s/{study.slug}/consent/").content.decode()

    for name, value in (
        ("Wer fragt", "Ada &lt;L&gt;"),
        ("Wo und wie lange Ihre Antworten aufbewahrt werden", "In the EU"),
        ("Ethikvotum", "Board 7"),
    ):
        assert f"<dt>{name}</dt>\n    <dd>{value}</dd>" in html
    assert consent_text(study).version != consent_text(make_study(language="de")).version


@pytest.mark.parametrize("items", [3, 10])
def test_it_states_as_many_items_as_the_pages_then_count(items):
    """Attention checks are counted too, and no study shows more items than it has."""
    study = make_study(items_per_annotator=items, minutes=20)
    make_items(study, 3)
    make_items(study, 3, split="attention_check", seats_needed=0, check_answer="r1")

    client, consent = start(study), consent_text(study).html

    page = client.get(f"/s/{study.slug}/task/1/").content.decode()
    assert "5 short profiles" in consent
    assert "Item 1 of 5" in page
    assert "You read 5 short questions" in description(study)


def agree(study, pid=PID):
    client = arrive(study, pid)
    client.post(f"/s/{study.slug}/consent/", {"consent": "yes"})
    return client


def test_everybody_keeps_the_text_and_the_terms_that_they_agreed_to():
    boxes = "Please take part.\n\n- [ ] I am at least 18 years old."
    study = make_study(consent=boxes, reward=450, minutes=20, contact="first@example.org")
    client = arrive(study)
    copy = f"/s/{study.slug}/consent/copy/"
    assert f'href="{copy}"' in client.get(f"/s/{study.slug}/consent/").content.decode()
    client.post(f"/s/{study.slug}/consent/", {"consent": "yes", "agree-0": "yes"})
    Study.objects.update(reward=900, minutes=45, contact="second@example.org", title="Other")

    copy = client.get(copy).content.decode()
    kept = ConsentVersion.objects.get()

    for words in (
        "What you agreed to",
        "first@example.org",
        "$4.50",
        "I am at least 18 years old.",
    ):
        assert words in copy
    assert "second@example.org" not in copy.partition("<h1>")[2].partition("</dl>")[0]
    assert (kept.terms["reward"], kept.terms["minutes"]) == (450, 20)
    assert kept.version == Annotator.objects.get().consent_version


def test_a_researcher_reads_the_text_that_an_annotator_agreed_to():
    study = make_study(contact="first@example.org")
    agree(study)
    Study.objects.update(contact="second@example.org")

    rater = Annotator.objects.get(study=study).pseudonym
    page = sign_in(study).get(f"/studies/{study.slug}/people/annotator/", {"rater": rater})

    assert "mailto:first@example.org" in page.content.decode()


def test_nobody_agrees_to_a_text_that_they_have_not_seen():
    study = make_study()
    client = arrive(study)
    shown = client.get(f"/s/{study.slug}/consent/").content.decode()
    version = re.search(r'name="version" value="(\w+)"', shown)[1]
    Study.objects.update(reward=100)

    page = client.post(f"/s/{study.slug}/consent/", {"consent": "yes", "version": version})

    assert page.status_code == 422
    assert "The text has changed since you opened this page." in page.content.decode()
    assert Annotator.objects.get().state == "arrived"


def test_annotators_are_counted_by_what_they_were_promised():
    study = make_study(reward=450, minutes=20)
    agree(study, "1" * 24)
    Study.objects.update(reward=900, minutes=45)
    agree(study, "2" * 24)
    Annotator.objects.update(state="completed")
    study.refresh_from_db()

    counts = promised([study])[study.pk]

    assert counts == {PromisedPay("USD", 450, 20): 1, PromisedPay("USD", 900, 45): 1}
    assert sum_in_words(counts, "USD") == "$13.50"


def test_the_copy_is_available_after_the_end_and_says_that_the_text_changed():
    study, client = begun()
    ConsentVersion.objects.all().delete()  # as of somebody whose text was not kept
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


def test_refusing_and_agreeing_have_equal_buttons():
    study = make_study()
    html = arrive(study).get(f"/s/{study.slug}/consent/").content.decode()

    buttons = re.findall(r'<button type="submit" class="([^"]+)" name="consent"', html)

    assert buttons == ["button-secondary"] * 2


def test_before_consent_only_the_way_of_entry_is_stored():
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
        "first_answer_by",  # when an id that nobody vouched for gives a seat back
    }
    identity = annotator.prolific_identity
    assert (identity.pid, identity.study_id, identity.session_ids) == (PID, "st1", ["se1"])
    assert list(annotator.events.values_list("event", "after", "detail")) == [
        ("state", "arrived", {})
    ]
    assert not annotator.assignments.exists()
