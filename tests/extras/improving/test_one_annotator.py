"""A judge learns from one annotator's answers, and is tried on this person's other answers."""

import re

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from analysis.data.dataset import load_dataset
from analysis.report.build import all_sentences, all_tables, build_report
from annotation.models import Annotator
from extras.improving import improving
from extras.improving.forgetting import AT_END, HELD
from extras.improving.models import LEARN, SEALED, Improvement
from extras.improving.parts import ItemInPart, answers_of_people, of_part, split
from extras.improving.requests import ImprovementWish, request_improvement
from studies.errors import StudyError
from studies.held_copies import PersonIn
from studies.models import Item
from tests.analysis.builders import answer, make_rater
from tests.extras.improving.conftest import replies
from tests.factories import stored_at_once
from tests.judging.llm_server import completion

database = pytest.mark.django_db(transaction=True)
OTHER = {"r1": "r2", "r2": "r1"}


def heeds_examples(body, number):
    """A judge that chooses the harsh reply once it has seen cases, otherwise the kind one."""
    text = body["messages"][0]["content"]
    if "These are earlier cases" not in text:
        return replies(heeds=False)(body, number)
    a = text.rpartition("[Response A]")[2].partition("[Response B]")[0]
    return completion("[[B]]" if "kind" in a else "[[A]]")


@pytest.fixture
def people(run, llm):
    """Two annotators with the same taste, and one who agrees with the personas."""
    llm.answer = heeds_examples
    raters = [make_rater(study=run.study) for _ in range(3)]
    with stored_at_once():
        for item in Item.objects.filter(study=run.study):
            for n, rater in enumerate(raters):
                answer(rater, item, item.first_person if n == 2 else OTHER[item.first_person])
    return [rater.pseudonym for rater in raters]


def improved(run, annotator, **changes):
    parts = {"kinds": ("examples",), "gain": 30, "most": 1} | changes
    wish = ImprovementWish(run=run, annotator=annotator, **parts)
    made = request_improvement(wish, budget=None, user=None)
    return improving.run_improvement(improvement_id=made.pk)


@database
def test_a_judge_that_sees_a_persons_answers_is_tried_on_others_of_the_same_person(
    run, people, llm
):
    done = improved(run, people[0])

    assert done.state == "done", done.message
    [result] = done.results["candidates"]
    assert result["is_better"]
    assert (result["after"], result["before"] < 0.5) == (1.0, True)
    # Right is what this person chose, not the persona's own answer, nor what most people chose.
    items = [ItemInPart(*row) for row in done.parts]
    own = dict(Item.objects.values_list("pk", "first_person"))
    assert {item.right == own[item.item] for item in items} == {False}


@database
def test_no_prompt_shows_the_item_that_it_asks_about_nor_a_sealed_one(run, people, llm):
    done = improved(run, people[0])

    items = [ItemInPart(*row) for row in done.parts]
    texts = dict(Item.objects.values_list("pk", "question"))
    sealed = {texts[item.item] for item in of_part(items, SEALED)}
    shown = 0
    for request in llm.requests:
        lesson, _, asked = request["messages"][0]["content"].rpartition("[Question]")
        cases = lesson.partition("These are earlier cases")[2]
        shown += bool(cases)
        question = asked.split("\n\n")[0].strip()
        assert question not in cases
        assert not any(text in cases for text in sealed)
    assert shown
    # Another fold's wording judges each item to learn from, and no question is in two parts.
    for learned in done.wordings.exclude(fold=0).select_related("wording"):
        own = {item.item for item in of_part(items, LEARN) if item.fold == learned.fold}
        assert not any(texts[pk] in learned.wording.template for pk in own)
    parts: dict[str, set[int]] = {}
    for item in items:
        parts.setdefault(texts[item.item], set()).add(item.part)
    assert {len(own) for own in parts.values()} == {1}


@database
def test_cases_say_what_this_person_chose(run, people, llm):
    done = improved(run, people[0])

    [whole] = done.wordings.filter(fold=0).select_related("wording")
    cases = re.findall(
        r"\[A\]\n(.*?)\n\n\[B\]\n(.*?)\n\nChosen: ([AB])", whole.wording.template, re.DOTALL
    )
    assert cases
    assert all("harsh" in (a if chosen == "A" else b) for a, b, chosen in cases)


@database
def test_other_peoples_later_answers_change_nothing_and_own_ones_do(run, people):
    items, answers = split(run, 0.5, people[0])

    assert answers == answers_of_people(run.study, people[0])
    assert len(items) == len(answers) == 112
    late = make_rater(study=run.study)
    answer(late, Item.objects.first(), "r1")
    assert answers_of_people(run.study, people[0]) == answers


@database
def test_questions_are_never_in_both_parts_where_items_repeat_them(run, people):
    twice = list(Item.objects.order_by("key").values_list("pk", "question"))
    for (pk, _), (_, question) in zip(twice[1::2], twice[::2], strict=True):
        Item.objects.filter(pk=pk).update(question=question)

    items, _ = split(run, 0.5, people[0])

    texts = dict(Item.objects.values_list("pk", "question"))
    part: dict[str, int] = {}
    assert all(part.setdefault(texts[one.item], one.part) == one.part for one in items)
    assert {one.part for one in items} == {LEARN, SEALED}


@database
def test_items_with_the_same_words_are_split_one_by_one(run, people):
    Item.objects.update(question="Which do you prefer?", context="")

    items, _ = split(run, 0.5, people[0])

    assert min(len(of_part(items, part)) for part in (LEARN, SEALED)) > 30


@database
def test_the_report_has_the_mean_gain_over_annotators_without_their_names(run, people, llm):
    for name in (people[0], people[1], people[2]):
        improved(run, name)

    report = build_report(load_dataset(run.study.slug), seed=1, bootstrap=20)

    assert [one["annotator"] for one in report["improvements"]] == [1, 2, 3]
    [over] = report["improvements_of_one"]
    gains = []
    for one in report["improvements"]:
        tried = [wording for wording in one["wordings"] if "difference" in wording]
        gains.append(tried[0]["difference"] if tried else 0.0)
    assert gains[2] == 0.0  # nothing was gained where the judge already agrees
    assert (over["people"], over["opened"]) == (3, 2)
    assert over["value"] == pytest.approx(sum(gains) / 3)
    rows = all_tables(report)["improvements_of_one"].rows
    assert rows[0][:3] == ["pupil", 3, 2]
    texts = " ".join(str(sentence) for sentence in all_sentences(report))
    assert not any(name in texts or name in str(report["improvements"]) for name in people)


@database
def test_the_command_and_the_page_offer_one_annotator(run, people, llm, admin_client, capsys):
    call_command(
        "improve_judge", "taught", "--annotator", people[0], "--learn", "examples", "--gain", "30",
        "--most", "1", "--inline",
    )  # fmt: skip
    assert "was shown to be better" in capsys.readouterr().out
    assert Improvement.objects.get().annotator == people[0]

    page = admin_client.get(reverse("improving:list", args=["taught"])).text
    assert f"{people[1]} (112 answers)" in page
    sent = {"run": run.public_id, "annotator": people[1], "kinds": ["examples"], "most": 1}
    sent |= {"items": 200, "share": 50, "gain": 30, "budget": "", "cost": 1}
    priced = admin_client.get(reverse("improving:list", args=["taught"]), sent).text
    assert "questions. Sealed:" in priced
    by_its_judge = sent | {"kinds": ["guidelines"], "writer": ""}
    priced = admin_client.get(reverse("improving:list", args=["taught"]), by_its_judge).text
    assert "questions. Sealed:" in priced
    started = admin_client.post(reverse("improving:list", args=["taught"]), sent)
    assert started.status_code == 302
    assert Improvement.objects.latest("pk").annotator == people[1]
    shown = admin_client.get(started.url).text
    assert f"The answers of annotator {people[1]} were split by question" in shown


@database
def test_what_is_not_of_one_person_is_refused(run, people):
    for changes, words in (
        ({"kinds": ("examples", "rules")}, "Leave out: rules"),
        ({"annotator": "P-none"}, "no annotator “P-none”"),
    ):
        wish = {"run": run, "annotator": people[0], "kinds": ("examples",), "gain": 30} | changes
        with pytest.raises(StudyError, match=words):
            request_improvement(ImprovementWish(**wish), budget=None, user=None)
    with pytest.raises(CommandError, match="no annotator"):
        call_command("improve_judge", "taught", "--annotator", "P-none", "--dry-run")


@database
def test_who_withdraws_or_asks_for_deletion_takes_the_improvement_along(run, people):
    improved(run, people[0])
    improved(run, people[1])
    person = PersonIn(run.study, people[0], run.created_at, None)

    [(title, rows)] = HELD.rows(person)
    assert (title, len(rows)) == ("improvements that predict this annotator", 112)
    HELD.forget(person)
    assert [one.annotator for one in Improvement.objects.all()] == [people[1]]
    AT_END.withdrew(Annotator.objects.get(pseudonym=people[1]))
    assert not Improvement.objects.exists()
    assert not [*HELD.rows(person)]
