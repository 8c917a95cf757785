"""Quota groups and “About you” questions by form."""

from fractions import Fraction

import pytest

from annotation.errors import QuotaError
from annotation.models import DemographicQuestion, QuotaGroup
from annotation.prolific.launch.launch import plan_of
from annotation.prolific.launch.shares import shares_of
from annotation.researchers.quota_views import combinations
from annotation.seats.capacity import shared_out
from annotation.seats.quotas import Quota, QuotaQuestion, set_quotas
from tests.factories import make_annotator, make_items, make_study, sign_in

pytestmark = pytest.mark.django_db

GENDER = QuotaQuestion("gender", "Gender?", {"woman": "Woman", "man": "Man"})
PARTY = QuotaQuestion("party", "Party?", {"dem": "Democrat", "rep": "Republican", "ind": "Other"})
AGE = QuotaQuestion("age", "Age?", {"young": "Under 40", "old": "40 or older"})


@pytest.fixture
def study():
    study = make_study(
        slug="s", items_per_annotator=10, annotations_per_item=3, reward=450, state="draft"
    )
    make_items(study, 20)
    set_quotas(study_id=study.pk, questions=[GENDER, PARTY, AGE], groups=[])
    return study


@pytest.fixture
def editor(study):
    return sign_in(study)


QUOTA = "/studies/s/people/places/quota/"
QUESTIONS = "/studies/s/people/places/questions/"


def cells(*numbers):
    return {f"target-{n}": str(number) for n, number in enumerate(numbers)}


def test_two_questions_make_rows_and_columns_and_the_total_is_compared_with_the_seats(editor):
    page = editor.get(QUOTA, {"q": ["gender", "party"], "choose": "yes"})

    grid = page.context["grid"]
    assert [line.label for line in grid.lines] == ["Woman", "Man"]
    assert grid.columns == ("Democrat", "Republican", "Other")
    # Filled evenly, as nothing is stored yet.
    assert [[cell.text for cell in line.cells] for line in grid.lines] == [["1"] * 3] * 2
    assert (page.context["needed"], page.context["total"], page.context["missing"]) == (6, 6, 0)


def test_one_button_adds_a_standard_question_and_its_grid(editor, study):
    set_quotas(study_id=study.pk, questions=[], groups=[])
    assert "Ask for gender" in editor.get(QUOTA).text

    page = editor.post(QUESTIONS, {"do": "use-gender"}, follow=True)

    assert page.redirect_chain == [(QUOTA, 302)]
    assert page.context["grid"].questions[0].key == "gender"
    assert [question.key for question in study.demographic_questions.all()] == ["gender"]


def test_gender_and_politics_are_asked_grouped_and_balanced_on_prolific_in_two_presses(
    editor, study
):
    """As many clicks as for one question, and nothing more in the launch plan."""
    set_quotas(study_id=study.pk, questions=[], groups=[])

    page = editor.post(QUESTIONS, {"do": "use-gender,politics"}, follow=True)
    grid = page.context["grid"]
    sent = {cell.name: cell.text for line in grid.lines for cell in line.cells}
    assert 'name="balance" value="yes" checked' in page.text
    page = editor.post(
        QUOTA, {**sent, "q": ["gender", "politics"], "balance": "yes", "do": "save"}, follow=True
    )

    assert "Quota saved: 6 groups for 6 annotators." in page.text
    assert "Prolific is not balanced" not in page.text
    plan = plan_of(study)
    assert plan.balance == {
        "sex": ["Male", "Female"],
        "us-political-affiliation": ["Democrat", "Republican", "Independent"],
    }
    shares = shares_of(plan, list(study.quota_groups.all()))
    assert (shares.places, shares.problem) == (6, "")


def test_a_question_without_a_known_filter_is_named_and_the_box_can_be_left(editor, study):
    sent = {**cells(3, 3), "q": "age", "do": "save"}

    page = editor.post(QUOTA, {**sent, "balance": "yes"}, follow=True)
    assert "Prolific is not balanced by Age?" in page.text
    set_quotas(study_id=study.pk, groups=[])
    editor.post(QUOTA, {**cells(3, 3), "q": "gender", "do": "save"})

    assert plan_of(study).balance == {}


@pytest.mark.parametrize("entry", ["prolific", "link"])
def test_the_page_says_what_happens_to_people_without_a_group(editor, study, entry):
    study.entry = entry
    study.save()

    page = editor.get(QUOTA, {"q": ["gender"], "choose": "yes"}).text

    assert "to admit none" not in page
    assert ("Leave empty to turn them away." in page) == (entry == "link")
    assert ("they work and are paid too" in page) == (entry == "prolific")


GENDERS = QuotaQuestion(
    "gender", "Gender?", {"woman": "Woman", "man": "Man", "non_binary": "Non-binary"}
)


@pytest.mark.parametrize("chosen", [[GENDERS], [GENDERS, PARTY]])
def test_filling_evenly_leaves_small_groups_out_and_says_where_they_go(editor, study, chosen):
    set_quotas(study_id=study.pk, questions=chosen, groups=[])
    keys = [question.key for question in chosen]
    cells_each = len(combinations(chosen)) // 3

    page = editor.get(QUOTA, {"q": keys, "choose": "yes"})

    filled = [cell.text for line in page.context["grid"].lines for cell in line.cells]
    assert filled == [str(6 // (2 * cells_each))] * (2 * cells_each) + [""] * cells_each
    assert (page.context["needed"], page.context["total"]) == (6, 6)
    assert "No places for: Non-binary." in page.content.decode()
    again = editor.post(QUOTA, {"q": keys, "do": "even", "everyone-else": "1", "total": "7"})
    assert again.context["total"] == 7
    assert "No places for" not in again.content.decode()


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"do": "even", "total": "8"}, [2, 2, 1, 1, 1, 1]),
        ({"do": "even", "total": ""}, [1, 1, 1, 1, 1, 1]),
        ({"do": "same", "each": "4"}, [4, 4, 4, 4, 4, 4]),
        (
            {
                "do": "shares",
                "total": "100",
                "share-gender-0": "60 %",
                "share-gender-1": "40",
                "share-party-0": "50",
                "share-party-1": "37,5",
                "share-party-2": "12.5",
            },
            [30, 23, 7, 20, 15, 5],
        ),
    ],
    ids=["even", "even as needed", "same", "shares"],
)
def test_the_grid_fills_without_a_script_and_stores_nothing(editor, study, sent, expected):
    page = editor.post(QUOTA, {"q": ["gender", "party"], **sent})

    filled = [int(cell.text) for line in page.context["grid"].lines for cell in line.cells]
    assert filled == expected
    assert page.context["total"] == sum(filled)
    assert not QuotaGroup.objects.exists()


def test_a_saved_grid_is_the_quota_and_is_shown_again(editor, study):
    sent = {
        "q": ["gender", "party"],
        "do": "save",
        "everyone-else": "1",
        **cells(1, "", 2, 0, 1, 1),
    }

    editor.post(QUOTA, sent)

    stored = [(g.criteria, g.target) for g in QuotaGroup.objects.all()]
    assert stored == [
        ({"gender": "woman", "party": "dem"}, 1),
        ({"gender": "woman", "party": "ind"}, 2),
        ({"gender": "man", "party": "dem"}, 0),
        ({"gender": "man", "party": "rep"}, 1),
        ({"gender": "man", "party": "ind"}, 1),
        ({}, 1),
    ]
    assert DemographicQuestion.objects.count() == 3
    assert study.log.get(event="groups set", user__isnull=False).detail["places"] == 6
    page = editor.get(QUOTA)
    texts = [cell.text for line in page.context["grid"].lines for cell in line.cells]
    assert (texts, page.context["everyone_else"]) == (["1", "", "2", "0", "1", "1"], "1")
    editor.post(QUOTA, {"do": "remove"})
    assert not QuotaGroup.objects.exists()
    assert DemographicQuestion.objects.count() == 3


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (cells("x"), "Woman, Democrat: “x” is not a number of annotators."),
        (cells("10001"), "Woman, Democrat: “10001”"),
        (cells(1) | {"everyone-else": "-1"}, "Everyone else: “-1”"),
        ({}, "The grid is empty."),
        ({"do": "same", "each": ""}, "Annotators in each group: “”"),
        ({"do": "shares"}, "Enter the shares of “Gender?” first"),
        ({"do": "shares", "share-gender-0": "NaN"}, "Woman: “NaN” is not a share."),
    ],
)
def test_faults_are_named_and_input_stays_on_the_page(editor, sent, words):
    page = editor.post(QUOTA, {"q": ["gender", "party"], "do": "save", **sent})

    assert page.status_code == 422
    assert words in page.context["fault"]
    assert page.context["grid"].lines[0].cells[0].text == sent.get("target-0", "")
    assert not QuotaGroup.objects.exists()


def test_too_many_groups_are_refused(editor, study):
    many = [
        QuotaQuestion(f"q{n}", f"Question {n}", {str(v): str(v) for v in range(20)})
        for n in range(2)
    ]
    set_quotas(study_id=study.pk, questions=many, groups=[])

    page = editor.get(QUOTA, {"q": ["q0", "q1"], "choose": "yes"})

    assert page.status_code == 422
    assert "400 groups" in page.context["fault"]


def test_once_somebody_has_entered_groups_only_grow_on_the_page_of_places(editor, study):
    type(study).objects.update(state="open")
    make_annotator(study=study)

    assert editor.post(QUOTA, {"q": "gender", "do": "save", **cells(1, 1)}).url.endswith("/places/")
    page = editor.post(QUESTIONS, {"do": "save", "question-rows": "0"})
    assert page.context["fixed"]
    assert DemographicQuestion.objects.count() == 3
    assert "Set up a quota" not in editor.get("/studies/s/people/places/").content.decode()


def question(number, label, options, key=""):
    row = {"label": label, "options": options, "key": key}
    return {f"question-{number}-{name}": value for name, value in row.items()}


def test_questions_are_added_moved_removed_and_saved_without_a_script(editor, study):
    page = editor.post(QUESTIONS, {"question-rows": "0", "do": "add-gender"})
    assert page.context["rows"][0]["key"] == "gender"
    rows = {"question-rows": "2", **question(0, "One?", "a\nb"), **question(1, "Two?", "c\nd")}
    moved = editor.post(QUESTIONS, rows | {"do": "down-0"})
    assert [row["label"] for row in moved.context["rows"]] == ["Two?", "One?"]
    fewer = editor.post(QUESTIONS, rows | {"do": "remove-0"})
    assert [row["label"] for row in fewer.context["rows"]] == ["Two?"]
    assert [q.key for q in study.demographic_questions.all()] == ["gender", "party", "age"]

    editor.post(QUESTIONS, rows | {"do": "save"})

    stored = [(q.key, q.label, q.options) for q in study.demographic_questions.all()]
    assert stored == [
        ("one", "One?", [{"value": "a", "label": "a"}, {"value": "b", "label": "b"}]),
        ("two", "Two?", [{"value": "c", "label": "c"}, {"value": "d", "label": "d"}]),
    ]


@pytest.mark.parametrize(
    ("language", "woman"), [("en", "Woman"), ("pl", "Kobieta"), ("ar", "امرأة")]
)
def test_a_ready_made_question_is_in_the_language_of_the_study_with_the_same_values(
    editor, study, language, woman
):
    set_quotas(study_id=study.pk, questions=[], groups=[])
    type(study).objects.update(language=language)

    editor.post(QUESTIONS, {"question-rows": "0", "do": "use-gender,education"})

    gender, education = study.demographic_questions.all()
    assert gender.options[0] == {"value": "woman", "label": woman}
    assert [option["value"] for option in gender.options] == ["woman", "man", "non_binary"]
    assert education.options[0]["value"] == "no_formal_education"


def test_an_option_keeps_its_value_when_others_change(editor, study):
    set_quotas(
        study_id=study.pk,
        questions=[GENDER],
        groups=[Quota(3, {"gender": "woman"}), Quota(1)],
    )
    rows = {
        "question-rows": "1",
        **question(0, "Your gender?", "Woman\nPrefer not to say", "gender"),
    }

    editor.post(QUESTIONS, rows | {"do": "save"})

    options = study.demographic_questions.get().options
    assert [option["value"] for option in options] == ["woman", "prefer_not_to_say_2"]
    assert [group.target for group in study.quota_groups.all()] == [3, 1]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (question(0, "", "a\nb"), "Question 1 has no text."),
        (question(0, "One?", "a"), "Question 1 has 1 option."),
        (question(0, "One?", "a\na"), "the same option twice"),
        (
            question(0, "Gender?", "Man\nOther", "gender"),
            "The quota groups use “Woman” of “Gender?”",
        ),
        (question(0, "Other?", "a\nb"), "The quota groups use “Woman” of “Gender?”"),
        (question(0, "One?", "a\nb", "a b"), "no usable name"),
    ],
)
def test_an_invalid_question_is_refused(editor, study, rows, words):
    set_quotas(study_id=study.pk, questions=[GENDER], groups=[Quota(3, {"gender": "woman"})])

    page = editor.post(QUESTIONS, {"question-rows": "1", "do": "save", **rows})

    assert page.status_code == 422
    assert words in page.context["fault"]
    assert study.demographic_questions.get().label == "Gender?"


def test_parts_add_up_to_the_whole():
    assert shared_out(10, [Fraction(1)] * 3) == [4, 3, 3]
    assert shared_out(7, [Fraction(0), Fraction(0)]) == [0, 0]
    assert shared_out(0, [Fraction(1), Fraction(2)]) == [0, 0]
    with pytest.raises(QuotaError, match="groups"):
        combinations([PARTY] * 6)
