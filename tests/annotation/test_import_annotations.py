"""Files of answers: imported whole or not at all, and only once."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation import services
from annotation.files.imports import import_annotations
from annotation.models import Annotation, Annotator, Assignment
from studies.importers.files.bundle import File
from studies.importers.files.faults import Refused
from studies.models import Study
from tests.factories import make_item, make_study, walk_in

pytestmark = pytest.mark.django_db

HEADER = "rater_id,item_id,choice,certainty,active_ms,shown_first,answered_at\n"


@pytest.fixture
def study() -> Study:
    study = make_study(slug="imported", annotations_per_item=1, items_per_annotator=2)
    for key in ("i1", "i2"):
        make_item(study=study, key=key)
    return study


def load(study: Study, text: str, name: str = "answers.csv"):
    return import_annotations(study_id=study.pk, file=File(name, text.encode()))


def refusal(study: Study, text: str) -> str:
    with pytest.raises(Refused) as refused:
        load(study, text)
    assert Annotation.objects.count() == 0
    assert Annotator.objects.count() == 0
    return str(refused.value)


def test_any_number_of_answers_about_other_items_can_be_left_out(study):
    rows = "".join(f"r1,other{n},r1,50,,,\n" for n in range(1_500))
    file = File("answers.csv", (HEADER + rows + "r1,i1,r1,50,,,\n").encode())

    result = import_annotations(study_id=study.pk, file=file, skip_faulty=True)

    assert (result.added, len(result.skipped), result.without_item) == (1, 100, 1_400)


def test_imported_answers_hold_no_seats_and_freeze_the_study(study):
    rows = "".join(f"r{n},i1,r1,{50 + n},900,r2,2026-05-20T11:03:00Z\n" for n in range(5))

    result = load(study, HEADER + rows + "r0,i2,tie,,,,\n")

    assert (result.added, result.unchanged, result.raters) == (6, 0, 5)
    assert set(Annotation.objects.values_list("standing", flat=True)) == {"imported"}
    assert not Annotation.objects.filter(ranking__isnull=False).exists()
    assert not Assignment.objects.filter(option_order__isnull=False).exists()
    assert set(study.all_items.values_list("seats_taken", "answered")) == {(0, 0)}
    answer = Annotation.objects.get(assignment__annotator__pseudonym="r3")
    assert (answer.choice, answer.certainty, answer.active_ms) == ("r1", 53, 900)
    assert answer.assignment.shown_first == "r2"
    assert answer.answered_at.isoformat() == "2026-05-20T11:03:00+00:00"
    study.refresh_from_db()
    assert study.frozen_at is not None
    assert walk_in(study).assignments.filter(is_surplus=False).count() == 2


def test_json_lines_say_the_same_as_csv(study):
    rows = [
        {"rater_id": "r1", "item_id": "i1", "choice": "r2", "certainty": 80, "active_ms": None},
        {"rater_id": "r1", "item_id": "i2", "choice": "tie", "certainty": None},
    ]
    lines = "\n".join(json.dumps(row) for row in rows)

    load(study, lines, "answers.jsonl")
    again = load(study, "rater_id,item_id,choice,certainty\nr1,i1,r2,80\nr1,i2,tie,\n")

    assert (again.added, again.unchanged) == (0, 2)


def test_the_same_file_again_changes_nothing_and_a_longer_one_adds(study):
    first = "rater_id,item_id,choice,certainty\nr1,i1,r1,70\n"
    load(study, first)
    before = list(Annotation.objects.values())

    again = load(study, first + "r1,i1,r1,70\n")
    more = load(study, first + "r1,i2,r2,10\n")

    assert (again.added, more.added) == (0, 1)
    assert list(Annotation.objects.values())[:1] == before
    assert list(
        Assignment.objects.filter(annotator__pseudonym="r1").values_list("position", flat=True)
    ) == [1, 2]


def test_another_answer_to_the_same_item_refuses_the_file(study):
    load(study, "rater_id,item_id,choice,certainty\nr1,i1,r1,70\n")

    with pytest.raises(Refused, match="already has another answer to “i1”: r1, certainty 70"):
        load(study, "rater_id,item_id,choice,certainty\nr1,i2,r1,70\nr1,i1,r1,71\n")

    assert Annotation.objects.count() == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (",i1,r1,70", "Line 2, item “i1”: rater_id is missing."),
        ("a b,i1,r1,70", "may use only letters, digits"),
        ("r1,,r1,70", "item_id is missing"),
        ("r1,zz,r1,70", "item “zz” is not in the study. Import the items first"),
        ("r1,i1,,70", "choice is missing. Use r1, r2 or tie."),
        ("r1,i1,A,70", "choice “A” is not known. Use one of: r1, r2, tie. Sides A and B"),
        ("r1,i1,r1,0", "certainty “0” is not a whole number from 1 to 100."),
        ("r1,i1,r1,101", "certainty “101”"),
        ("r1,i1,r1,7.5", "certainty “7.5”"),
        ("r1,i1,r1,abc", "certainty “abc”"),
        ("r1,i1,tie,50", "a tie has no certainty"),
        ("r1,i1,r1,70,99", "there are 5 cells, the header has 4."),
    ],
)
def test_a_broken_row_refuses_the_file_and_says_how_to_fix_it(study, row, message):
    assert message in refusal(study, f"rater_id,item_id,choice,certainty\n{row}\n")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ("fast,,", "active_ms “fast” is not a whole number"),
        ("-1,,", "active_ms “-1”"),
        (",A,", "shown_first “A” is not known. Use one of: r1, r2."),
        (",,yesterday", "answered_at “yesterday” is not a date and time"),
        (",,2026-13-40T00:00:00Z", "answered_at"),
    ],
)
def test_a_broken_detail_refuses_the_file(study, cells, message):
    assert message in refusal(study, f"{HEADER}r1,i1,r1,70,{cells}\n")


def test_two_different_answers_of_one_file_are_a_fault(study):
    text = "rater_id,item_id,choice,certainty\nr1,i1,r1,70\nr1,i1,r2,70\n"

    assert "Line 3: rater “r1” answered item “i1” differently on line 2." in refusal(study, text)


def test_a_missing_column_is_named_with_the_existing_ones(study):
    message = refusal(study, "rater,item_id,choice\nr1,i1,r1\n")

    assert "There is no column rater_id. The file has: rater, item_id, choice." in message


@pytest.mark.parametrize("text", ["", "rater_id,item_id,choice\n"])
def test_a_file_without_answers_is_refused(study, text):
    assert "no answers" in refusal(study, text)


def test_a_file_that_is_not_utf8_names_the_line(study):
    with pytest.raises(Refused, match=r"Line 2 is not UTF-8\. Save the file as ‘CSV UTF-8’"):
        import_annotations(
            study_id=study.pk, file=File("a.csv", b"rater_id,item_id,choice\nr1,i1,r\x81\n")
        )


def test_a_file_in_a_named_encoding_is_read(study):
    text = "rater_id,item_id,choice,note\nr1,i1,r1,да\n"

    import_annotations(study_id=study.pk, file=File("a.csv", text.encode("cp1251"), "cp1251"))
    import_annotations(study_id=study.pk, file=File("a.csv", text.encode("utf-16")))

    assert Annotation.objects.count() == 1


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "cp1253"])
def test_a_named_encoding_that_is_wrong_is_refused(study, encoding):
    with pytest.raises(Refused, match=f"the file is not in the encoding {encoding}"):
        import_annotations(study_id=study.pk, file=File("a.csv", b"rater_id\xff,b", encoding))


@pytest.mark.parametrize(
    "time",
    [
        "9999-12-31T23:59:59-12:00",
        "0001-01-01T00:00:00+05:00",
        "0001-01-01",
        "9999-12-31T00:00:00Z",
        "1899-12-31T23:59:59Z",
        "2999-12-31T23:59:59Z",
        "2026-02-30T00:00:00Z",
    ],
)
def test_a_time_that_no_clock_holds_is_named(study, time):
    text = f"rater_id,item_id,choice,answered_at\nr1,i1,r1,{time}\n"

    assert f"Line 2, item “i1”: answered_at “{time}” is not a date and time" in refusal(study, text)


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_a_list_of_one_is_its_value_and_several_are_named(study, kind):
    def rows(*choice):
        given = {
            "rater_id": ["r\u200b1"],
            "item_id": ["i1"],
            "choice": [*choice],
            "certainty": [80],
        }
        if kind == "json":
            return json.dumps([given])
        return ",".join(given) + "\n" + ",".join(f'"{value}"' for value in given.values())

    assert "choice is a list of 2 values (r1, r2). Give it one." in refusal(study, rows("r1", "r2"))
    load(study, rows("r1"), name=f"a.{kind}")
    answer = Annotation.objects.get()
    assert (answer.choice, answer.certainty) == ("r1", 80)
    assert answer.assignment.annotator.pseudonym == "r1"


def test_a_rater_with_the_pseudonym_of_an_annotator_is_refused(study):
    annotator = walk_in(study)

    with pytest.raises(Refused, match="is the pseudonym of somebody who answered in this study"):
        load(study, f"rater_id,item_id,choice\n{annotator.pseudonym},i1,r1\n")


def test_the_command_reports_what_it_did(study, tmp_path: Path, capsys):
    file = tmp_path / "answers.csv"
    file.write_text("rater_id,item_id,choice,certainty\nr1,i1,r1,70\n", encoding="utf-8")

    call_command("import_annotations", "imported", str(file), "--dry-run")
    dry = Annotation.objects.count()
    call_command("import_annotations", "imported", str(file))

    assert dry == 0
    assert Annotation.objects.count() == 1
    assert capsys.readouterr().out.splitlines() == [
        "Nothing was stored. Without --dry-run: Answers imported: 1; there already: 0. "
        "Imported raters in the study: 1.",
        "Answers imported: 1; there already: 0. Imported raters in the study: 1.",
    ]


def test_the_command_names_what_is_wrong(study, tmp_path: Path):
    with pytest.raises(CommandError, match=r"There is no study “nope”\. Use one of: imported\."):
        call_command("import_annotations", "nope", "x.csv")
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        call_command("import_annotations", "imported", str(tmp_path / "none.csv"))


def test_rows_that_an_export_marks_as_not_counted_are_left_out_and_counted(study):
    result = load(
        study,
        "rater_id,item_id,choice,certainty,standing,excluded\n"
        "ann,i1,r1,80,counted,False\n"
        "bob,i1,r2,70,surplus,False\n"
        "cem,i1,r2,60,released,False\n"
        "dot,i1,r2,50,counted,True\n",
    )

    assert (result.added, result.left_out) == (1, 3)
    assert str(result).endswith("Left out as not counted: 3.")
    assert [a.assignment.annotator.pseudonym for a in Annotation.objects.all()] == ["ann"]


@pytest.fixture
def portions_of_two(monkeypatch):
    monkeypatch.setattr("studies.importers.files.answer_rows._PORTION", 2)


def test_portions_of_a_file_are_stored_as_one(study, portions_of_two):
    rows = [f"r{n // 2},i{1 + n % 2},r1,{50 + n},,r2,2026-05-20T13:03:00+02:00\n" for n in range(9)]
    load(study, HEADER + rows[3])

    result = load(study, HEADER + "".join([*rows, *rows[5:]]))

    assert (result.added, result.unchanged, result.raters) == (8, 1, 5)
    assert list(
        Assignment.objects.order_by("annotator__pseudonym", "position").values_list(
            "annotator__pseudonym", "position", "item__key", "annotation__certainty"
        )
    )[:4] == [("r0", 1, "i1", 50), ("r0", 2, "i2", 51), ("r1", 1, "i2", 53), ("r1", 2, "i1", 52)]
    assert load(study, HEADER + "".join(rows)).added == 0
    assert study.log.filter(event="answers imported").count() == 2


def test_faults_of_all_portions_are_listed_and_nothing_is_stored(study, portions_of_two):
    load(study, "rater_id,item_id,choice\nr1,i1,r1\nr3,i1,r1\n")
    rows = ["r0,i1,r1", "r0,i2,r1", "r1,i1,r2", "r2,i1,r1", "r2,i2,r1", "r3,i1,r2", "r4,i1,r1"]

    with pytest.raises(Refused) as refused:
        load(study, "rater_id,item_id,choice\n" + "".join(f"{row}\n" for row in rows))

    assert [fault.line for fault in refused.value.faults] == [4, 7]
    assert Annotation.objects.count() == 2
    assert Annotator.objects.count() == 2


def test_ids_and_whole_numbers_may_have_a_decimal_point(study):
    make_item(study=study, key="7")

    load(study, "rater_id,item_id,choice,certainty,active_ms\n3.0,7.0,r1,26.0,900.0\n")
    again = load(study, "rater_id,item_id,choice,certainty,active_ms\n3,7,r1,26,900\n")

    answer = Annotation.objects.get()
    assert (answer.certainty, answer.active_ms, answer.assignment.item.key) == (26, 900, "7")
    assert Annotator.objects.get().pseudonym == "3"
    assert (again.added, again.unchanged) == (0, 1)


@pytest.mark.parametrize("by_column", [True, False])
def test_answers_in_one_json_value_are_read(study, by_column):
    rows = [{"rater_id": "a", "item_id": key, "choice": "r1"} for key in ("i1", "i2")]
    columns = {name: {str(n): row[name] for n, row in enumerate(rows)} for name in rows[0]}

    assert load(study, json.dumps(columns if by_column else rows), "answers.json").added == 2
    other = [rows[0], rows[1] | {"choice": "r2"}]
    with pytest.raises(Refused, match="Entry 2: rater “a” already has another answer to “i2”"):
        load(study, json.dumps(other), "answers.json")


def test_faulty_rows_are_left_out_on_request_and_listed(study, tmp_path, capsys):
    load(study, "rater_id,item_id,choice\nb,i1,r1\n")
    path = tmp_path / "answers.csv"
    path.write_text(
        "rater_id,item_id,choice,certainty\na,i1,r1,70\na,i2,r9,\nb,i1,r2,\nc,i9,r1,\nc,i2,r2,7.5\n"
    )

    with pytest.raises(CommandError, match="Nothing was imported"):
        call_command("import_annotations", "imported", path)
    call_command("import_annotations", "imported", path, "--skip-faulty")

    assert Annotation.objects.count() == 2
    said = capsys.readouterr().out
    assert "Answers imported: 1; there already: 0." in said
    assert "Faulty rows left out: 4." in said
    assert "Line 3, item “i2”: choice “r9” is not known" in said
    assert "Line 4: rater “b” already has another answer to “i1”" in said
    assert "Line 6, item “i2”: certainty “7.5” is not a whole number" in said


def test_certainties_on_another_scale_are_asked_for_or_converted(study, tmp_path):
    path = tmp_path / "answers.csv"
    rows = [f"r{n},i{n % 2 + 1},r1,{0.1 * n:.1f}\n" for n in range(1, 10)]
    path.write_text("rater_id,item_id,choice,certainty\n" + "".join(rows))

    with pytest.raises(CommandError, match=r"certainty “0.1” is not a whole number"):
        call_command("import_annotations", "imported", path)
    call_command("import_annotations", "imported", path, "--scale", "0-1")

    stored = Annotation.objects.order_by("certainty").values_list("certainty", flat=True)
    assert list(stored) == [*range(10, 100, 10)]
    low = "".join(f"x{n},i1,r1,{n % 7 + 1}.0\n" for n in range(10))
    with pytest.raises(Refused, match=r"all 10 certainties are from 1 to 7, not to 100"):
        load(study, "rater_id,item_id,choice,certainty\n" + low)
    with pytest.raises(CommandError, match=r"must be two numbers such as 1-5"):
        call_command("import_annotations", "imported", path, "--scale", "five")


def test_an_imported_rater_can_be_excluded_and_holds_no_seat_to_reopen(study):
    load(study, "rater_id,item_id,choice\nw1,i1,r1\n")
    rater = Annotator.objects.get()

    services.exclude(annotator_id=rater.pk, reason="too fast", reopen_seats=True)
    services.include(annotator_id=rater.pk)

    assert rater.assignments.get().state == "answered"
    assert Annotation.objects.get().standing == "imported"
