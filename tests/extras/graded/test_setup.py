"""The page that chooses the questions, their copies and files, exports and researchers' pages."""

import csv
import json

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Annotation, Annotator
from annotation.services import exclude
from extras.graded.asking import asked_in
from extras.graded.models import GradeQuestions, Grades
from extras.graded.setup import FILE, set_questions, values_in
from judging.protocols.registry import protocol
from studies.errors import FrozenStudy, StudyError
from studies.services.whole_studies import copy_study, delete_rows
from studies.study_folder import Folder
from tests.analysis.builders import judge_item, make_run
from tests.annotation.pages.walking import item_page, post_answer, start
from tests.extras.graded.answering import ALL, CRITERIA, ENTERED, NOTHING, make_graded_study
from tests.factories import make_study, sign_in

pytestmark = pytest.mark.django_db
FORM = {"strength": "on", "scale": "7", "criteria": "on", "reason": "optional"}


@pytest.fixture
def answered():
    """A study with a graded answer to one of two items."""
    study = make_graded_study()
    client = start(study)
    post_answer(client, item_page(client, study), **ENTERED)
    study.refresh_from_db()
    return study


def page_of(study):
    return f"/studies/{study.slug}/graded/"


def test_an_editor_chooses_the_questions_and_sees_how_judges_are_asked_the_same():
    study = make_study(criteria=CRITERIA, state="draft")
    editor = sign_in(study)
    version = str(study.version)

    saved = editor.post(page_of(study), FORM | {"version": version})
    stale = editor.post(page_of(study), FORM | {"version": version, "reason": "required"})

    study.refresh_from_db()
    assert (saved.status_code, stale.status_code) == (302, 422)
    assert "Someone else changed" in stale.content.decode()
    assert values_in(study) == {
        "strength": True,
        "scale": 7,
        "criteria": True,
        "reason": "optional",
    }
    page = editor.get(page_of(study)).content.decode()
    settings = (
        "settings=strength&amp;settings=score-7&amp;settings=criteria&amp;settings=reason-line"
    )
    assert settings in page
    setup = editor.get(f"/studies/{study.slug}/").content.decode()
    assert "strength of the preference, a score for each response" in setup
    form = editor.get(f"/studies/{study.slug}/judges/new/?settings=score-7&settings=strength")
    assert form.status_code == 200
    for setting in ("strength", "score-5", "score-7", "score-10", "criteria", "reason-line"):
        assert protocol(setting).name == setting


@pytest.mark.parametrize(
    ("criteria", "words"),
    [
        ([], "The study has no criteria"),
        ([{"key": f"c{n}", "name": f"C{n}", "description": ""} for n in range(7)], "6 at most"),
    ],
)
def test_criteria_that_nobody_can_be_asked_about_are_refused(criteria, words):
    study = make_study(criteria=criteria)

    refused = sign_in(study).post(page_of(study), FORM)

    assert refused.status_code == 422
    assert words in refused.content.decode()
    assert not GradeQuestions.objects.exists()


def test_the_first_answer_fixes_the_questions(answered):
    page = sign_in(answered).get(page_of(answered)).content.decode()

    assert "this can no longer change" in page
    assert "disabled" in page
    with pytest.raises(FrozenStudy):
        set_questions(study_id=answered.pk, wanted=NOTHING, user=None)
    set_questions(study_id=answered.pk, wanted=ALL, user=None)  # the same again


def test_questions_are_copied_and_kept_in_files(answered, tmp_path):
    copy = copy_study(study_id=answered.pk, slug="copy", title="Copy", with_items=True)
    assert values_in(copy) == ALL

    file, again = tmp_path / FILE.file, make_study(criteria=answered.criteria)
    file.write_text(FILE.write(answered)[FILE.file])
    assert 'reason = "required"' in file.read_text()
    FILE.apply(again, Folder(tmp_path), FILE.file, user=None)
    assert asked_in(again) == asked_in(copy)
    file.write_text('scale = 6\nreason = "no"\n')
    with pytest.raises(StudyError, match=r"scale is 6. Use one of: 0, 2, 5, 7, 10"):
        FILE.apply(again, Folder(tmp_path), FILE.file, user=None)


def test_a_deleted_study_leaves_no_grades(answered):
    delete_rows(answered)

    assert not Grades.objects.exists()
    assert not GradeQuestions.objects.exists()


def exported(study, what, path, *options):
    call_command("export", study.slug, "--what", what, "--format", "csv", "--out", path, *options)
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_exports_have_the_grades_under_exported_names(answered, tmp_path):
    (row,) = exported(answered, "grades", tmp_path / "g.csv")
    (answer,) = exported(answered, "annotations", tmp_path / "a.csv")
    (item,) = exported(answered, "graded-items", tmp_path / "i.csv")

    assert row["answer_id"] == answer["answer_id"]
    assert (row["strength"], row["strength_word"], row["criterion_kind"]) == ("2", "clearly", "tie")
    assert {row["score_1"], row["score_2"]} == {"1", "4"}
    assert row["criterion_clear"] == row["choice"]
    assert "reason" not in row
    assert Annotator.objects.get().pseudonym not in str(row)
    sign = 1 if row["choice"] == "r1" else -1
    assert (item["answers"], float(item["strength"]), item["reasons"]) == ("1", 2 * sign, "1")


def test_reasons_are_exported_only_if_asked_for_and_of_nobody_who_withdrew(answered, tmp_path):
    (row,) = exported(answered, "grades", tmp_path / "g.csv", "--free-text")
    assert row["reason"] == ENTERED["reason"]

    Annotation.objects.update(standing="withdrawn")
    assert exported(answered, "grades", tmp_path / "w.csv", "--free-text") == []
    with pytest.raises(CommandError, match="there are no grades"):
        exported(make_study(), "grades", tmp_path / "n.csv")


def test_reasons_stand_next_to_those_of_a_judge(answered):
    given = Annotation.objects.select_related("assignment__item").get()
    item = given.assignment.item
    run = make_run(study=answered, setting="reason-line")
    other = "r1" if given.choice == "r2" else "r2"
    judge_item(run, item, other, None, raw_text="It is <b>greener</b>.\n[[B]]")
    editor = sign_in(answered)

    page = editor.get(f"/studies/{answered.slug}/items/{item.key}/").content.decode()
    found = editor.get(f"/studies/{answered.slug}/disagreements/").content.decode()

    assert "Preferred clearly" in page
    assert "Kindness: no difference" in page
    for text in (page, found):
        assert ENTERED["reason"] in text
        assert "It is &lt;b&gt;greener&lt;/b&gt;." in text
    exclude(annotator_id=Annotator.objects.get().pk, reason="A test")
    again = editor.get(f"/studies/{answered.slug}/disagreements/?show=all").content.decode()
    assert ENTERED["reason"] not in again


def test_a_log_entry_says_what_changed(answered):
    detail = answered.log.get(event="graded answers changed").detail
    assert (detail["before"], json.loads(json.dumps(detail["after"]))) == (NOTHING, ALL)
