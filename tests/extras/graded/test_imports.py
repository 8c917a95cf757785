"""Grades from a file: for imported answers, whole or not at all, and once."""

import pytest
from django.core.management import CommandError, call_command

from extras.graded.models import Grades
from tests.extras.graded.answering import NOTHING, make_graded_study
from tests.factories import make_study

pytestmark = pytest.mark.django_db
HEAD = "rater_id,item_id,choice,certainty,strength,score_1,score_2,criterion_clear,reason\n"


@pytest.fixture
def study():
    return make_graded_study()


def write(path, study, *rows):
    """A file of rows about the study's items; {0} and {1} are their ids."""
    keys = study.all_items.order_by("key").values_list("key", flat=True)
    path.write_text(HEAD + "".join(f"{row}\n" for row in rows).format(*keys), "utf-8")
    return path


def test_one_file_has_answers_and_their_grades(study, tmp_path, capsys):
    file = write(
        tmp_path / "a.csv",
        study,
        "ann,{0},r1,80,3,5,1,tie,It is  flat",
        "bob,{0},tie,,,3,3,,",
        "ann,{1},r2,20,1,1,2,r2,",
    )
    call_command("import_annotations", study.slug, file)

    for _ in range(2):
        call_command("import_annotations", study.slug, file, "--grades")

    assert "imported: 0; there already: 3." in capsys.readouterr().out
    found = Grades.objects.order_by("pk").values_list(
        "revision", "strength", "score_1", "score_2", "criteria", "reason"
    )
    assert list(found) == [
        (1, 3, 5, 1, {"clear": "tie"}, "It is flat"),
        (1, None, 3, 3, {}, ""),
        (1, 1, 1, 2, {"clear": "r2"}, ""),
    ]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("ann,{0},r1,80,4,,,,", "strength"),
        ("ann,{0},r1,80,,6,1,,", "score_1"),
        ("ann,{0},r1,80,,5,,,", "Give both, or neither"),
        ("ann,{0},r1,80,,,,A,", "criterion_clear"),
        ("bob,{0},tie,,1,,,,", "a tie, which has no strength"),
        ("eve,{0},r1,80,1,,,,", "no imported answer"),
        ("ann,{0},r1,80,1,,,," + "x" * 301, "limit is 300"),
    ],
)
def test_a_file_with_a_fault_is_refused_whole(study, tmp_path, row, words):
    answers = write(
        tmp_path / "a.csv", study, "ann,{0},r1,80,,,,,", "bob,{0},tie,,,,,,", "ann,{1},r2,9,,,,,"
    )
    call_command("import_annotations", study.slug, answers)
    file = write(tmp_path / "g.csv", study, "ann,{1},r2,9,1,1,2,r2,", row)

    with pytest.raises(CommandError, match=f"(?s){words}"):
        call_command("import_annotations", study.slug, file, "--grades")

    assert not Grades.objects.exists()


def test_grades_do_not_change_and_need_questions(study, tmp_path):
    first = write(tmp_path / "a.csv", study, "ann,{0},r1,80,3,,,,")
    call_command("import_annotations", study.slug, first)
    call_command("import_annotations", study.slug, first, "--grades")
    other = write(tmp_path / "b.csv", study, "ann,{0},r1,80,2,,,,")

    with pytest.raises(CommandError, match="already has other grades"):
        call_command("import_annotations", study.slug, other, "--grades")
    with pytest.raises(CommandError, match="does not say which grades"):
        call_command("import_annotations", make_graded_study(asked=NOTHING).slug, first, "--grades")
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("import_annotations", make_study().slug, tmp_path / "none.csv", "--grades")
    assert Grades.objects.get().strength == 3
