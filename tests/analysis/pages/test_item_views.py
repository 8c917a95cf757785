"""The page of an item: all answers and judgments, the way through a list, the note."""

import hashlib

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from judging.engine.messages import as_text
from judging.models import Attempt, Judgment
from judging.prompts.asking import messages_of
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.factories import make_item, make_study, sign_in

pytestmark = pytest.mark.django_db
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def study():
    return make_study(slug="one")


@pytest.fixture
def item(study):
    return make_item(study=study, key="i1", first_person="r1")


def page_of(study, key="i1", role="viewer", client=None, **query):
    client = client or sign_in(study, role)
    return client.get(reverse("studies:item", args=[study.slug, key]), query)


def text_of(response):
    return " ".join(response.content.decode().split())


def test_every_answer_is_shown_with_certainty_order_and_time(study, item):
    answer(make_rater(study=study, pseudonym="P-A"), item, "r1", 80, shown_first="r2")
    answer(make_rater(study=study, pseudonym="P-B"), item, "r2", 60)
    answer(make_rater(study=study, pseudonym="P-C"), item, "r1", 90)

    response = page_of(study)

    answers = response.context["answers"]
    assert [(a.annotator, a.answer, a.side, a.certainty, a.is_right) for a in answers] == [
        ("P-A", "response 1", "B", 80, True),
        ("P-B", "response 2", "B", 60, False),
        ("P-C", "response 1", "A", 90, True),
    ]
    majority = response.context["majority"]
    assert (majority.answer, majority.certainty, majority.is_right) == ("response 1", 85, True)
    assert "Chosen by 2 of 3 annotators" in text_of(response)
    assert "Response 2 first, chose B" in text_of(response)
    assert "20 s active" in text_of(response)


def test_answers_that_do_not_count_are_named_and_withdrawn_ones_are_not_shown(study, item):
    answer(make_rater(study=study, pseudonym="P-A"), item, "r1")
    excluded = make_rater(
        study=study, pseudonym="P-B", excluded_at="2026-11-01T00:00Z", exclusion_reason="bot"
    )
    answer(excluded, item, "r2")
    answer(make_rater(study=study, pseudonym="P-C"), item, "r2", standing="surplus")
    answer(make_rater(study=study, pseudonym="P-D"), item, "r2", standing="withdrawn")

    response = page_of(study)

    assert [a.annotator for a in response.context["answers"]] == ["P-A", "P-B", "P-C"]
    assert "Excluded: not counted" in text_of(response)
    assert "Surplus: not counted" in text_of(response)
    assert "P-D" not in text_of(response)
    assert response.context["majority"].answers == 1


def test_a_judgment_shows_its_reply_its_reading_and_the_prompt_as_it_was_sent(study, item):
    run = make_run(study=study, judge="steady")
    judgment = judge_item(run, item, "r2", 75)
    sent = as_text(messages_of(run, item, shown_first="r1"))
    Judgment.objects.update(
        raw_text="Because. [[B]] 75", prompt_sha256=hashlib.sha256(sent.encode()).hexdigest()
    )
    Attempt.objects.update(text="Because. [[B]] 75", latency_ms=1234)

    response = page_of(study)

    (one,) = response.context["readings"]
    (reading,) = one.readings
    assert (reading.judgment, reading.prompt, reading.is_prompt_sent) == (judgment, sent, True)
    assert (one.verdict.answer, one.verdict.is_right) == ("response 2", False)
    page = text_of(response)
    for words in ("Because. [[B]] 75", "✔ Its hash matches the prompt", "1,234 ms", "1 request"):
        assert words in page


def test_a_prompt_that_differs_from_the_one_sent_says_so(study, item):
    judge_item(make_run(study=study), item, "r1", 75)
    Judgment.objects.update(prompt_sha256="0" * 64)

    assert "The prompt that was sent differs" in text_of(page_of(study))


def test_a_reply_that_could_not_be_read_is_no_verdict(study, item):
    judge_item(make_run(study=study), item, state="unparseable")
    Judgment.objects.update(raw_text="I would rather not say.")

    page = text_of(page_of(study))

    assert "no readable reply" in page
    assert "Unparseable" in page
    assert "I would rather not say." in page


def test_previous_and_next_follow_the_list_that_the_reader_came_from(study):
    for key in ("a", "b", "c", "d"):
        make_item(study=study, key=key, question="Tea?" if key in "ad" else "Coffee?")
    client = sign_in(study, "viewer")

    walk = page_of(study, "b", client=client).context["walk"]
    assert (walk.previous, walk.next) == ("a", "c")
    response = page_of(study, "a", client=client, list="items", search="tea")
    walk = response.context["walk"]
    assert (walk.previous, walk.next) == ("", "d")
    assert 'items/d/?list=items&amp;search=tea"' in response.content.decode()


def test_previous_and_next_within_a_list_of_disagreements(study):
    run = make_run(study=study)
    for key, verdict in (("a", "r2"), ("b", "r1"), ("c", "r2")):
        item = make_item(study=study, key=key, first_person="r1")
        answer(make_rater(study=study), item, "r1")
        judge_item(run, item, verdict, 70)
    client = sign_in(study, "viewer")
    client.get(reverse("disagreements:list", args=["one"]))

    walk = page_of(study, "a", client=client, list="disagreements").context["walk"]
    assert (walk.previous, walk.next, walk.name) == ("", "c", "Annotators and judge disagree")
    walk = page_of(study, "a", client=client, list="disagreements", show="all").context["walk"]
    assert walk.next == "b"


@pytest.mark.parametrize("key", ["x y", "ä?&#%", "i<1>", "i;'1"])
def test_any_key_has_its_page(study, key):
    make_item(study=study, key=key)
    make_item(study=study, key="0")
    client = sign_in(study, "viewer")

    assert page_of(study, key, client=client).status_code == 200
    assert page_of(study, "0", client=client).context["walk"].next == key


def test_hostile_text_is_shown_as_text(study, item):
    rater = make_rater(study=study, pseudonym=SCRIPT)
    answer(rater, item, "r1")
    judge_item(make_run(study=study, judge=SCRIPT, features=SCRIPT), item, "r1", 70)
    Judgment.objects.update(raw_text=SCRIPT, error=SCRIPT, model_snapshot=SCRIPT)
    Attempt.objects.update(text=SCRIPT, error=SCRIPT)

    page = page_of(study, list="disagreements", topic=SCRIPT).content.decode()

    assert SCRIPT not in page
    assert page.count("&lt;script&gt;") > 6


def test_many_runs_and_answers_come_in_pages_at_the_same_queries(
    study, item, django_assert_max_num_queries
):
    def fill(runs, raters):
        for _ in range(raters):
            answer(make_rater(study=study), item, "r1")
        for n in range(runs):
            judge_item(make_run(study=study, judge=f"judge {runs} {n:02}"), item, "r1", 70)

    client = sign_in(study, "viewer")
    fill(1, 1)
    with CaptureQueriesContext(connection) as few:
        page_of(study, client=client)
    fill(50, 60)

    with django_assert_max_num_queries(len(few)):
        response = page_of(study, client=client)

    assert len(response.context["readings"]) == 10
    assert len(response.context["answers"]) == 50
    assert len(page_of(study, client=client, judges_page=6).context["readings"]) == 1
    assert len(page_of(study, client=client, answers_page=2).context["answers"]) == 11
    assert len(few) < 30
