"""The pages of comprehension check and practice, and the researcher's page that sets them up."""

import re

import pytest

from annotation.content.comprehension import (
    QuestionText,
    as_toml,
    questions_of,
    set_questions,
    standard_questions,
)
from annotation.models import Annotator, AnnotatorEvent
from tests.annotation.pages.walking import answer_all, post_answer, start
from tests.factories import make_item, make_items, make_study, sign_in

pytestmark = pytest.mark.django_db

ATTACK = "<script>alert(1)</script>"


@pytest.fixture
def study():
    study = make_study(items_per_annotator=2)
    make_items(study, 2)
    return study


@pytest.fixture
def asking(study):
    set_questions(study_id=study.pk, questions=standard_questions(study))
    return study


def right(study, number):
    return str(study.comprehension_questions.get(position=number).right)


def wrong(study, number):
    question = study.comprehension_questions.get(position=number)
    return str((question.right + 1) % len(question.options))


def test_the_whole_way_with_every_check(asking):
    make_item(study=asking, split="practice", key="try")
    for _ in range(2):
        make_item(study=asking, split="attention_check", check_answer="r1")
    client = start(asking)

    for number in range(1, 6):
        url = f"/s/{asking.slug}/quiz/{number}/"
        assert client.get(url).status_code == 200
        response = client.post(url, {"answer": right(asking, number)})
    assert response["Location"] == f"/s/{asking.slug}/practice/"
    client.post(response["Location"], {"choice": "a", "certainty": "50"})
    response = client.post(f"/s/{asking.slug}/practice/", {"understood": "try"})
    assert response["Location"] == f"/s/{asking.slug}/task/1/"
    page = answer_all(client, asking)

    assert "Your 4 answers are saved" in page.content.decode()


def test_a_wrong_answer_shows_the_sentence_and_a_second_one_the_ending(asking):
    client = start(asking)
    url = f"/s/{asking.slug}/quiz/1/"
    pointer = asking.comprehension_questions.get(position=1).pointer
    assert pointer not in client.get(url).content.decode()

    refused = client.post(url, {"answer": wrong(asking, 1), "try": "1"})
    pressed_twice = client.post(url, {"answer": wrong(asking, 1), "try": "1"})
    ended = client.post(url, {"answer": wrong(asking, 1), "try": "2"})
    page = client.get(ended["Location"])

    assert (refused.status_code, pressed_twice.status_code) == (422, 422)
    assert pointer in refused.content.decode()
    assert 'name="try" value="2"' in refused.content.decode()
    assert ended["Location"] == f"/s/{asking.slug}/done/"
    assert "This is not a rejection" in page.content.decode()
    code = asking.completion_codes.get(ending="disqualified").code
    assert f"cc={code}" in page.content.decode()


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("answer", ["", "9", "x"])
def test_submitting_nothing_costs_no_try(asking, answer):
    client = start(asking)

    response = client.post(f"/s/{asking.slug}/quiz/1/", {"answer": answer})

    body = response.content.decode().split("<main")[1]
    assert response.status_code == 422
    assert body.count("Select an answer") == 1
    assert 'role="alert"' in body
    assert Annotator.objects.get().comprehension_answers.count() == 0


def test_a_later_or_finished_question_redirects_to_the_open_one(asking):
    client = start(asking)
    client.post(f"/s/{asking.slug}/quiz/1/", {"answer": right(asking, 1)})

    for path in ("quiz/", "quiz/1/", "quiz/3/", "quiz/99/"):
        response = client.get(f"/s/{asking.slug}/{path}")
        assert response["Location"] == f"/s/{asking.slug}/quiz/2/", path
    for path in ("practice/", "task/", "task/1/", "feedback/"):
        response = client.get(f"/s/{asking.slug}/{path}")
        assert response["Location"] == f"/s/{asking.slug}/quiz/", path


def test_removed_questions_hold_nobody_up(asking):
    client = start(asking)
    set_questions(study_id=asking.pk, questions=[])

    response = client.get(f"/s/{asking.slug}/quiz/", follow=True)

    assert response.redirect_chain[-1][0] == f"/s/{asking.slug}/task/"
    assert response.status_code == 200


def test_practice_shows_the_persons_answer_and_then_continues(study):
    make_item(
        study=study,
        split="practice",
        key="p1",
        first_person="r2",
        fixed_first="r1",
        r2={"text": f"Right {ATTACK}"},
        metadata={"feedback": f"Because {ATTACK}"},
    )
    client = start(study)
    url = f"/s/{study.slug}/practice/"

    refused = client.post(url, {"choice": "", "certainty": "200"})
    response = client.post(url, {"choice": "a", "certainty": "90"})
    page = client.get(response["Location"]).content.decode()
    again = client.post(url, {"choice": "b", "certainty": "10"})

    assert refused.status_code == 422
    assert response.status_code == 303
    assert "answer was the other one" in page
    assert "Response B" in page
    assert "certainty 90" in page
    assert ATTACK not in page
    assert "Because &lt;script&gt;" in page
    assert again.status_code == 200
    assert AnnotatorEvent.objects.get(event="practised").detail["choice"] == "r1"


def test_an_attention_check_looks_like_an_item(study):
    for _ in range(2):
        make_item(study=study, split="attention_check", check_answer="r2", question="Choose B.")
    client = start(study)
    pages = {}
    for assignment in Annotator.objects.get().assignments.select_related("item"):
        page = client.get(f"/s/{study.slug}/task/{assignment.position}/")
        post_answer(client, page)
        if assignment.position > 1:  # The first page has no way back.
            pages[assignment.item.split] = page.content.decode()

    check, item = pages["attention_check"], pages["main"]
    assert re.findall(r"<(\w+)", check) == re.findall(r"<(\w+)", item)
    assert re.findall(r'class="([^"]*)"', check) == re.findall(r'class="([^"]*)"', item)
    assert "attention" not in check
    assert re.search(r"[234] of 4", check)


# The researcher's page


@pytest.fixture
def editor(study):
    return sign_in(study)


def test_editors_use_the_standard_questions_change_and_remove_them(study, editor):
    url = f"/studies/{study.slug}/people/checks/"

    editor.post(url, {"standard": ""})
    assert questions_of(study) == standard_questions(study)
    own = [QuestionText(f"Q {ATTACK}", ("a", "b"), 0, "p")]
    editor.post(url, {"questions": as_toml(own)})
    assert questions_of(study) == own
    page = editor.get(url).content.decode()
    assert ATTACK not in page
    assert "Q &lt;script&gt;" in page
    preview = editor.get(f"/s/{study.slug}/preview/quiz/").content.decode()
    assert ATTACK not in preview
    assert "Q &lt;script&gt;" in preview
    editor.post(url, {"questions": ""})

    assert questions_of(study) == []


def test_questions_with_a_fault_stay_on_the_page(study, editor):
    response = editor.post(f"/studies/{study.slug}/people/checks/", {"questions": "[[question"})

    assert response.status_code == 422
    assert "not valid TOML" in response.content.decode()
    assert ">[[question</textarea>" in response.content.decode()
    assert questions_of(study) == []


def test_answering_the_questions_takes_few_queries(asking, django_assert_max_num_queries):
    client = start(asking)

    with django_assert_max_num_queries(6):
        client.get(f"/s/{asking.slug}/quiz/1/")
