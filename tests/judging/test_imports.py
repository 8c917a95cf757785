import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from judging.errors import ConflictingValue, InvalidValue
from judging.models import Judge, JudgeRun, Judgment
from judging.runs.imports import import_judgments
from studies.importers.files.bundle import File
from studies.importers.files.faults import Refused
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = make_study(slug="s")
    for key in ("a", "b", "c"):
        make_item(study=study, key=key)
    return study


def bring(study, rows, *, name="f.jsonl", judge="gpt", **options):
    text = rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows)
    return import_judgments(
        study_id=study.pk, file=File(name, text.encode()), judge_name=judge, **options
    )


def faults_of(study, rows, **options):
    with pytest.raises(Refused) as caught:
        bring(study, rows, **options)
    assert not Judgment.objects.exists()
    assert not JudgeRun.objects.exists()
    assert not Judge.objects.exists()
    return [(fault.line, fault.field) for fault in caught.value.faults]


def test_judgments_come_in_with_a_judge_for_recorded_answers(study):
    result = bring(
        study,
        [
            {
                "item_id": "a",
                "choice": "r1",
                "certainty": 80,
                "shown_first": "r2",
                "raw_text": "[[B]]",
            },
            {"item_id": "b", "choice": None, "parse_status": "refused", "raw_text": "No."},
            {"item_id": "c", "choice": "", "raw_text": "Hm."},
        ],
    )

    run = JudgeRun.objects.get()
    rows = Judgment.objects.order_by("item__key").values_list(
        "item__key", "state", "choice", "certainty", "shown_first", "raw_text"
    )
    assert list(rows) == [
        ("a", "done", "r1", 80, "r2", "[[B]]"),
        ("b", "refused", "", None, "", "No."),
        ("c", "unparseable", "", None, "", "Hm."),
    ]
    assert (run.state, run.setting, run.features, run.is_imported) == (
        "done",
        "certainty",
        "all",
        True,
    )
    assert (Judge.objects.get().backend, result.new) == ("replay", 3)
    study.refresh_from_db()
    assert study.frozen_at is not None


def test_a_csv_is_read_like_json_lines(study):
    bring(study, "item_id;choice;certainty\na;r1;70\n\nb;r2;\n", name="f.csv")

    assert list(Judgment.objects.order_by("item__key").values_list("choice", "certainty")) == [
        ("r1", 70),
        ("r2", None),
    ]


def test_importing_again_changes_nothing_and_more_rows_are_added(study):
    rows = [{"item_id": "a", "choice": "r1"}]
    bring(study, rows)

    assert bring(study, [*rows, *rows]).new == 0
    assert bring(study, [*rows, {"item_id": "b", "choice": "r2"}]).new == 1
    assert Judgment.objects.count() == 2


def test_another_answer_to_the_same_item_refuses_the_file(study):
    bring(study, [{"item_id": "a", "choice": "r1"}])

    with pytest.raises(Refused, match="already has a different judgment by “gpt”"):
        bring(study, [{"item_id": "b", "choice": "r1"}, {"item_id": "a", "choice": "r2"}])

    assert Judgment.objects.count() == 1


def test_portions_are_stored_as_one_or_refused_as_one(study, monkeypatch):
    monkeypatch.setattr("studies.importers.files.answer_rows._PORTION", 2)
    rows = [
        {"item_id": key, "choice": "r1", "sample": sample, "certainty": 60 + sample}
        for sample in (1, 2)
        for key in "abc"
    ]
    bring(study, rows[3:4])

    with pytest.raises(Refused) as refused:
        bring(study, [*rows[:3], {**rows[3], "choice": "r2"}, *rows[4:]])

    assert [fault.line for fault in refused.value.faults] == [4]
    assert Judgment.objects.count() == 1
    assert (bring(study, rows).new, bring(study, [*rows, *rows]).known) == (5, 6)
    assert JudgeRun.objects.get().samples == 2
    assert sorted(Judgment.objects.values_list("item__key", "sample", "certainty")) == [
        (key, sample, 60 + sample) for key in "abc" for sample in (1, 2)
    ]


def test_repeated_judgments_of_an_item_need_numbers(study):
    with pytest.raises(Refused, match="Number repeated judgments"):
        bring(study, [{"item_id": "a", "choice": "r1"}, {"item_id": "a", "choice": "r2"}])

    bring(study, [{"item_id": "a", "choice": c, "sample": n} for n, c in ((1, "r1"), (2, "r2"))])

    assert Judgment.objects.count() == 2
    assert JudgeRun.objects.get().samples == 2


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"item_id": "zz", "choice": "r1"}, "item_id"),
        ({"choice": "r1"}, "item_id"),
        ({"item_id": "a", "choice": "A"}, "choice"),
        ({"item_id": "a", "choice": "r1", "certainty": 0}, "certainty"),
        ({"item_id": "a", "choice": "r1", "certainty": 101}, "certainty"),
        ({"item_id": "a", "choice": "r1", "certainty": "abc"}, "certainty"),
        ({"item_id": "a", "choice": "r1", "certainty": True}, "certainty"),
        ({"item_id": "a", "choice": "r1", "certainty": 70.5}, "certainty"),
        ({"item_id": "a", "choice": "tie", "certainty": 70}, "certainty"),
        ({"item_id": "a", "choice": "r1", "shown_first": "left"}, "shown_first"),
        ({"item_id": "a", "choice": "r1", "parse_status": "refused"}, "choice"),
        ({"item_id": "a", "choice": "", "parse_status": "ok"}, "choice"),
        ({"item_id": "a", "choice": "r1", "rater_kind": "human"}, "rater_kind"),
        ({"item_id": "a", "choice": "r1", "raw_text": 5}, "raw_text"),
        ({"item_id": "a", "choice": "", "certainty": 80, "parse_status": "ok"}, "choice"),
    ],
)
def test_one_bad_row_refuses_the_whole_file_and_names_line_and_field(study, row, field):
    rows = [{"item_id": "b", "choice": "r2", "rater_id": "x"}, row]

    assert faults_of(study, rows) == [(2, field)]


def test_every_fault_is_told_not_the_first(study):
    rows = [
        {"item_id": "a", "choice": "A"},
        {"item_id": "b", "choice": "r1"},
        {"item_id": "x", "choice": "r1", "certainty": 900},
        "not an object",
    ]

    assert faults_of(study, rows) == [(1, "choice"), (3, "item_id"), (3, "certainty"), (4, "")]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"item_id": "a", "choice": "r1"}\n{"item_id": \n', "f.jsonl"),
        ("item_id,choice\na,r1\nb\n", "f.csv"),
        ("item,choice\na,r1\n", "f.csv"),
        ("", "f.csv"),
        ("item_id,choice\n", "f.csv"),
    ],
)
def test_a_file_that_cannot_be_read_stores_nothing(study, text, name):
    assert len(faults_of(study, text, name=name)) == 1


def test_two_judges_or_settings_in_one_file_are_refused(study):
    rows = [
        {"item_id": "a", "choice": "r1", "rater_id": "x", "setting": "standard"},
        {"item_id": "b", "choice": "r1", "rater_id": "y", "setting": "standard"},
        {"item_id": "c", "choice": "r1", "rater_id": "x", "setting": "tie"},
    ]

    assert faults_of(study, rows) == [(2, "rater_id"), (3, "setting")]


def test_a_tie_needs_the_setting_that_offers_it(study):
    assert bring(study, [{"item_id": "a", "choice": "tie"}]).run.setting == "tie"

    with pytest.raises(ConflictingValue, match="Use setting tie"):
        bring(study, [{"item_id": "a", "choice": "tie"}], setting="standard", judge="other")


def test_the_command_says_what_came_in_and_what_is_wrong(study, tmp_path):
    file = tmp_path / "f.jsonl"
    file.write_text('{"item_id": "a", "choice": "r1"}\n')
    out = StringIO()

    call_command("import_judgments", "s", str(file), "--judge", "gpt", stdout=out)
    assert out.getvalue() == "Imported 1 judgments of “gpt” (standard, features all).\n"

    with pytest.raises(CommandError, match="cannot be read: No such file"):
        call_command("import_judgments", "s", str(tmp_path / "none"), "--judge", "gpt")
    with pytest.raises(CommandError, match="no study “nope”"):
        call_command("import_judgments", "nope", str(file), "--judge", "gpt")


def test_faulty_rows_are_left_out_on_request_and_listed(study):
    make_item(study=study, key="5")
    text = "item_id;choice;certainty;sample\na;r1;80.0;1.0\nb;r9;;\n5.0;r2;70;\nz;r1;;\n"

    result = bring(study, text, name="f.csv", skip_faulty=True)

    assert {row.item.key: row.certainty for row in Judgment.objects.all()} == {"a": 80, "5": 70}
    assert "Faulty rows left out: 2." in str(result)
    assert "Line 3, item “b”: choice “r9” is not known" in str(result)
    assert bring(study, text, name="f.csv", skip_faulty=True).new == 0


def test_any_number_of_judgments_about_other_items_can_be_left_out(study):
    rows = [{"item_id": f"other{n}", "choice": "r1"} for n in range(1_500)]

    result = bring(study, [*rows, {"item_id": "a", "choice": "r1"}], skip_faulty=True)

    assert (result.new, len(result.skipped), result.without_item) == (1, 100, 1_400)
    assert "because the study does not have their items: 1,400." in str(result)
    with pytest.raises(Refused, match="none of 1,500 judgments is about an item of the study"):
        bring(study, rows, skip_faulty=True)


def test_a_list_of_judgments_names_the_entry_of_a_fault(study):
    rows = [{"item_id": "a", "choice": "r1"}, {"item_id": "b", "choice": "x"}]

    with pytest.raises(Refused, match="Entry 2, item “b”: choice “x” is not known"):
        bring(study, json.dumps(rows), name="f.json")


def test_certainties_on_another_scale_are_asked_for_or_converted(study):
    rows = [
        {"item_id": "a", "choice": "r1", "certainty": n % 5 + 1, "sample": n} for n in range(1, 21)
    ]

    with pytest.raises(Refused, match=r"all 20 certainties are from 1 to 5.*--scale 1-5"):
        bring(study, rows)
    bring(study, rows, scale=(1, 5))

    found = set(Judgment.objects.values_list("certainty", flat=True))
    assert found == {10, 30, 50, 70, 90}
    with pytest.raises(Refused, match=r"certainty “6” is not a number from 1 to 5"):
        bring(study, [{"item_id": "b", "choice": "r1", "certainty": 6}], scale=(1, 5))


def test_a_name_that_is_too_long_for_a_judge_is_refused(study):
    make_item(study=study, key="i1")

    with pytest.raises(InvalidValue, match=r"121 characters\. Use at most 120"):
        bring(study, [{"item_id": "i1", "choice": "r1"}], judge="x" * 121)
    assert not Judge.objects.exists()
