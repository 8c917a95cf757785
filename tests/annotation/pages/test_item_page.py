"""The item page: what it shows, what it takes, and what it refuses."""

import gzip
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from django.utils import timezone

from annotation.models import Annotation, AnnotationRevision, Assignment
from annotation.participants.forms import assignment_token
from studies.prompts import BANDS, wording
from tests.annotation.pages.walking import begun, item_page, post_answer, start, token_of
from tests.factories import make_item, make_items, make_persona, make_study

pytestmark = pytest.mark.django_db

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'


def test_the_page_reads_person_question_a_b_certainty_button(client, study):
    page = item_page(client, study).content.decode()

    order = [
        'id="person"',
        "Question ",
        "<legend><h1>",
        'id="choice-a"',
        'id="choice-b"',
        'id="certainty"',
        'id="submit"',
    ]
    places = [page.index(mark) for mark in order]
    assert places == sorted(places)
    assert "<title>Item 1 of 3 – " in " ".join(page.split())


def test_nothing_is_chosen_and_no_certainty_is_set_on_a_fresh_item(client, study):
    page = item_page(client, study).content.decode()

    assert "checked" not in page
    assert re.search(r'id="certainty"[^>]*value=""', page)
    assert page.count('type="radio"') == 2


def test_question_and_levels_are_those_of_the_judges_prompt(client, study):
    page = item_page(client, study).content.decode()

    assert wording("preference", "certainty").question in page
    for band in BANDS:
        assert f"{band.low}–{band.high}" in page
        assert band.definition in page


@pytest.mark.parametrize(
    ("style", "shown"),
    [
        ("facts", '<dt lang="en" dir="auto">Age</dt><dd lang="en" dir="auto">35-44</dd>'),
        ("sentences", "The person is 35-44."),
    ],
)
def test_the_person_is_shown_in_the_style_of_the_study(style, shown):
    study, client = begun(persona_style=style)

    page = item_page(client, study).content.decode()

    assert shown in page


def test_a_choice_is_stored_in_content_terms(client, study):
    page = item_page(client, study)

    post_answer(client, page, choice="b", certainty="81")

    annotation = Annotation.objects.get()
    assert annotation.choice == annotation.assignment.shown_second
    assert (annotation.certainty, annotation.standing) == (81, "counted")
    shown = page.content.decode()
    first = annotation.assignment.item.response(annotation.assignment.shown_first)["text"]
    second = annotation.assignment.item.response(annotation.assignment.shown_second)["text"]
    assert shown.index(first) < shown.index(second)


def test_the_next_item_follows_by_303(client, study):
    response = post_answer(client, item_page(client, study))

    assert (response.status_code, response["Location"]) == (303, f"/s/{study.slug}/task/2/")
    assert "2 of 3" in client.get(response["Location"]).content.decode()


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("typed", ["72", " 72 ", "72%", "72 %", "７２"])
def test_certainties_are_read_as_people_type_them(client, study, typed):
    post_answer(client, item_page(client, study), certainty=typed)

    assert Annotation.objects.get().certainty == 72


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("typed", ["0", "101", "7.5", "abc", "", "-5", "1e2", None])
def test_an_invalid_certainty_is_refused_clearly_and_stores_nothing(client, study, typed):
    response = post_answer(client, item_page(client, study), choice="b", certainty=typed)

    page = response.content.decode()
    assert response.status_code == 422
    assert "There is a problem" in page
    assert '<a href="#certainty">Enter a certainty from 1 to 100</a>' in page
    assert "<title>Error:" in page
    assert re.search(r'value="b" id="choice-b"[^>]*checked', page)
    assert 'aria-invalid="true"' in page
    assert not Annotation.objects.exists()


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("choice", [None, "", "ZZZ", "r1", "tie"])
def test_a_choice_that_is_not_offered_is_refused_and_keeps_the_certainty(client, study, choice):
    response = post_answer(client, item_page(client, study), choice=choice, certainty="64")

    page = response.content.decode()
    assert response.status_code == 422
    assert '<a href="#choice-a">Select the response this person would prefer</a>' in page
    assert re.search(r'id="certainty"[^>]*value="64"', page)
    assert not Annotation.objects.exists()


def test_an_untouched_item_names_both_problems_in_order(client, study):
    response = post_answer(client, item_page(client, study), choice=None, certainty="")

    links = re.findall(r'<li><a href="#([\w-]+)">', response.content.decode())
    assert links == ["choice-a", "certainty"]


def test_each_task_asks_for_its_own_choice():
    study, client = begun(task="authorship")

    response = post_answer(client, item_page(client, study), choice=None)

    assert "Select the response this person wrote" in response.content.decode()


def test_a_tie_needs_no_certainty_and_stores_none():
    study, client = begun(allow_tie=True)
    page = item_page(client, study)

    response = post_answer(client, page, choice="tie", certainty="abc")

    annotation = Annotation.objects.get()
    assert 'id="choice-tie"' in page.content.decode()
    assert response.status_code == 303
    assert (annotation.choice, annotation.certainty) == ("tie", None)


def test_a_study_without_certainty_asks_for_none_and_stores_none():
    study, client = begun(ask_certainty=False)
    page = item_page(client, study)

    response = post_answer(client, page, certainty="80")

    assert 'id="certainty"' not in page.content.decode()
    assert response.status_code == 303
    assert Annotation.objects.get().certainty is None


def test_going_back_shows_the_earlier_answer_and_a_change_is_a_revision(client, study):
    post_answer(client, item_page(client, study), choice="b", certainty="55")
    second = client.get(f"/s/{study.slug}/task/2/")
    assert f'href="/s/{study.slug}/task/1/"' in second.content.decode()

    back = client.get(f"/s/{study.slug}/task/1/")
    changed = post_answer(client, back, choice="a", certainty="56")

    shown = back.content.decode()
    assert re.search(r'value="b" id="choice-b"[^>]*checked', shown)
    assert re.search(r'id="certainty"[^>]*value="55"', shown)
    assert changed["Location"] == f"/s/{study.slug}/task/2/"
    assert Annotation.objects.get().revision == 2
    assert list(AnnotationRevision.objects.values_list("certainty", flat=True)) == [55, 56]


@pytest.mark.parametrize("position", [3, 999])
def test_items_ahead_cannot_be_opened(client, study, position):
    response = client.get(f"/s/{study.slug}/task/{position}/")

    assert (response.status_code, response["Location"]) == (303, f"/s/{study.slug}/task/")


def test_after_completion_an_answer_is_refused(client, study):
    page = item_page(client, study)
    for position in (1, 2, 3):
        post_answer(client, client.get(f"/s/{study.slug}/task/{position}/"))
    client.post(f"/s/{study.slug}/feedback/")

    response = post_answer(client, page, certainty="5")

    assert (response.status_code, response["Location"]) == (303, f"/s/{study.slug}/done/")
    assert not Annotation.objects.filter(certainty=5).exists()


def test_imported_texts_are_shown_as_text_everywhere():
    study = make_study(
        items_per_annotator=1, title=HOSTILE, show_history=1, task="question_answer_authorship"
    )
    fact = {"key": "age", "label": HOSTILE, "value": HOSTILE, "text": HOSTILE}
    history = [{"prompt": HOSTILE, "chosen": HOSTILE, "rejected": HOSTILE}]
    persona = make_persona(study=study, features=[fact], text=HOSTILE, history=history)
    side = {"text": HOSTILE, "prompt": HOSTILE}
    make_item(
        study=study,
        persona=persona,
        question=HOSTILE,
        context=HOSTILE,
        context_title=HOSTILE,
        warnings=[HOSTILE],
        r1=side,
        r2={**side, "text": HOSTILE + "2"},
    )
    client = start(study)

    pages = [item_page(client, study)]
    study.persona_style = "facts"
    study.save()
    pages.append(item_page(client, study))

    for response in pages:
        page = response.content.decode()
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert page.count("&lt;script&gt;") >= 10


def test_a_researchers_markdown_brings_no_script_and_no_image():
    study = make_study(
        items_per_annotator=1,
        consent=f"**Hello** {HOSTILE} [x](javascript:alert(3)) ![y](https://elsewhere.example/p.png)",
        instructions=HOSTILE,
        ai_policy=HOSTILE,
    )
    make_items(study, 1)
    client = Client()
    consent = client.get(f"/s/{study.slug}/?PROLIFIC_PID=abc", follow=True).content.decode()
    start(study, "abc", client)
    instructions = client.get(f"/s/{study.slug}/instructions/").content.decode()

    assert "<strong>Hello</strong>" in consent
    for page in (consent, instructions):
        assert "<script>alert" not in page
        assert "<img" not in page
        assert 'href="javascript:' not in page


def test_no_model_is_named_and_no_other_host_is_contacted():
    study = make_study(items_per_annotator=1)
    model = {"kind": "model", "name": "gpt-4-secret", "provider": "openai", "family": "gpt"}
    make_item(
        study=study,
        r1={"text": "One", "generated_by": model, "score": 90},
        r2={"text": "Two", "generated_by": model, "score": 10},
    )

    response = item_page(start(study), study)

    page = response.content.decode()
    assert "gpt" not in page
    assert "openai" not in page
    assert not re.findall(r'(?:src|href|action)="(?:https?:)?//', page)
    assert "gpt" not in str(response.headers)


def test_the_page_stays_small_with_the_longest_texts_people_get():
    study = make_study(items_per_annotator=1)
    make_item(
        study=study,
        question="q " * 420,
        r1={"text": "One word after the other. " * 100},
        r2={"text": "Another word after the one. " * 96},
    )
    client = start(study)

    page = item_page(client, study).content
    static = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.decode())
    linked = [Path(finders.find(path.removeprefix("/static/"))) for path in static]
    modules = Path(finders.find("js/annotator.js")).parent.glob("annotator*.js")
    total = len(gzip.compress(page))
    total += sum(len(gzip.compress(file.read_bytes())) for file in {*linked, *modules})
    assert total < 60_000


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("active", ["", "abc", "-3", "1" * 40, None, "480000", "9" * 12])
def test_a_made_up_active_time_is_accepted_but_cut_to_the_elapsed_time(client, study, active):
    response = post_answer(client, item_page(client, study), active_ms=active)

    annotation = Annotation.objects.get()
    assert response.status_code == 303
    assert (annotation.active_ms or 0) <= annotation.elapsed_ms < 60_000


def test_drafts_refusals_and_changes_do_not_lengthen_a_made_up_time(client, study):
    page = item_page(client, study)
    forged = {"active_ms": "480000"}
    draft = {"assignment": token_of(page), "stamp": "0.0", "choice": "a"} | forged

    address = f"/s/{study.slug}/task/1/"
    kept = client.post(f"{address}draft/", draft)
    refused = post_answer(client, item_page(client, study), choice="", **forged)
    post_answer(client, refused, address, **forged)
    post_answer(client, client.get(address), choice="b", **forged)

    assert kept.json()["active_ms"] < 60_000
    assert Annotation.objects.get().active_ms < 60_000


def test_time_before_a_reload_is_kept(client, study):
    shown = Assignment.objects.get(position=1)
    token = assignment_token(shown, shown_at=timezone.now() - timedelta(seconds=40))
    draft = {"assignment": token, "stamp": "0.0", "choice": "a", "active_ms": "30000"}
    client.post(f"/s/{study.slug}/task/1/draft/", draft)

    post_answer(client, item_page(client, study), active_ms="30000")

    assert Annotation.objects.get().active_ms == 30_000


def test_the_cost_of_a_page_does_not_grow_with_the_items(django_assert_max_num_queries):
    study, client = begun(40)
    page = item_page(client, study)
    post_answer(client, page)  # The first answer of a study also freezes it.

    with django_assert_max_num_queries(3):
        page = item_page(client, study)
    with django_assert_max_num_queries(11):
        post_answer(client, page)


def test_each_text_of_an_item_names_its_language():
    study = make_study(task="authorship", language="en", items_per_annotator=1)
    persona = make_persona(study=study)
    make_item(
        study=study,
        persona=persona,
        language="ar",
        context="السياق",
        question="ماذا أطبخ؟",
        r1={"text": "حساء", "prompt": "سؤال"},
        r2={"text": "خبز"},
    )

    page = item_page(start(study), study).content.decode()

    for text in ("السياق", "ماذا أطبخ؟", "حساء", "سؤال", "خبز"):
        assert re.search(rf'<(\w+)[^>]* lang="ar" dir="rtl"[^>]*>{text}</\1>', page), text
    assert '<dd lang="ar" dir="auto">' in page or '<li lang="ar" dir="auto">' in page
    assert '<html lang="en"' in page
