"""Criteria of a study: written on a page or in a file, shown to annotators, part of the content."""

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.urls import reverse

from studies.models import Study
from studies.services.whole_studies import copy_study
from studies.texts.markdown import as_lines, from_lines, read_criteria
from tests.annotation.pages.walking import start
from tests.factories import make_items, make_study, sign_in

LINES = "Clarity: easy to follow: at once\nKindness"
CRITERIA = [
    {"key": "clarity", "name": "Clarity", "description": "easy to follow: at once"},
    {"key": "kindness", "name": "Kindness", "description": ""},
]


def test_lines_and_tables_are_the_same_criteria():
    assert from_lines(f"\n{LINES}\n\n") == CRITERIA
    assert as_lines(CRITERIA) == LINES
    assert read_criteria([{"name": " Größe "}]) == [
        {"key": "größe", "name": "Größe", "description": ""}
    ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("Clarity", "at most 12 criteria"),
        ([{"name": str(n)} for n in range(13)], "at most 12 criteria"),
        (["Clarity"], "Criterion 1: write a table"),
        ([{"name": "Clarity", "weight": 2}], "Criterion 1: write a table"),
        ([{"name": 7}], "Criterion 1: write a table"),
        ([{"name": "A"}, {"description": "Kind"}], "Criterion 2 has no name"),
        ([{"name": "…"}], "Criterion 1 has no name"),
        ([{"name": "Is it [[A]]?"}], "Criterion 1: use a name"),
        ([{"name": "n" * 61}], "Criterion 1: use a name of up to 60"),
        ([{"name": "A", "description": "one\ntwo"}], "on one line"),
        ([{"name": "Clarity"}, {"name": "clarity"}], "two criteria “clarity”"),
    ],
)
def test_an_invalid_criterion_is_refused_with_its_place(given, words):
    with pytest.raises(ValidationError, match=words.replace("[", r"\[")):
        read_criteria(given)


def test_a_file_can_have_criteria(db, tmp_path):
    spec = tmp_path / "study.toml"
    spec.write_text('[[criteria]]\nname = "Clarity"\ndescription = "easy"\n', "utf-8")

    call_command("create_study", "films", "--from", str(spec))

    stored = Study.objects.get().criteria
    assert stored == [{"key": "clarity", "name": "Clarity", "description": "easy"}]
    spec.write_text('criteria = ["Clarity"]\n', "utf-8")
    with pytest.raises(CommandError, match="Criterion 1: write a table"):
        call_command("create_study", "books", "--from", str(spec))


@pytest.fixture
def study(db):
    return make_study(slug="s")


def saved(client, lines):
    url = reverse("studies:settings", args=["s"])
    form = client.get(url).context["form"]
    values = {field.html_name: field.value() for field in form}
    data = {
        name: value for name, value in values.items() if value is not None and value is not False
    }
    return client.post(url, data | {"criteria": lines})


@pytest.mark.nightly
def test_the_page_stores_them_and_refuses_invalid_ones(study):
    client = sign_in(study)

    assert saved(client, LINES).status_code == 302

    study.refresh_from_db()
    assert study.criteria == CRITERIA
    page = client.get(reverse("studies:settings", args=["s"])).content.decode()
    assert "Clarity: easy to follow: at once\nKindness" in page
    again = saved(client, "Clarity\nclarity")
    assert again.status_code == 422
    assert "There are two criteria “clarity”." in again.content.decode()


def test_annotators_see_them_in_the_instructions_and_with_every_item(study):
    Study.objects.update(criteria=CRITERIA, language="de", entry="prolific")
    make_items(study, 2)

    client = start(study)

    for step in ("instructions", "task"):
        page = client.get(reverse(f"annotation:{step}", args=["s"])).content.decode()
        assert "Vergleichen Sie die Antworten nach" in page
        assert "<strong>Clarity</strong>: easy to follow: at once" in page
        assert "<li><strong>Kindness</strong></li>" in page


def test_a_copy_has_them_too(study):
    Study.objects.update(criteria=CRITERIA)

    copy = copy_study(study_id=study.pk, slug="t", title="T", with_items=False)

    assert copy.criteria == CRITERIA
