"""The items of a study are replaced whole while nothing rests on them; own answers are counted."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from studies.errors import StudyError
from studies.importers.items.storage import import_items
from studies.importers.uploads import run_import
from studies.models import ImportJob, Item, Persona, Study
from tests.factories import answer_all, make_study, sign_in, walk_in
from tests.judging.conftest import make_judge
from tests.studies.files import jsonl, raw_item, read

pytestmark = pytest.mark.django_db
OLD = jsonl(raw_item(1), raw_item(2))
NEW = jsonl(raw_item(2, question="Other?"), raw_item(3), raw_item(4))
PAGE = "/studies/one/import/"


@pytest.fixture
def study() -> Study:
    study = make_study(slug="one", source={"name": "old", "redistribution": "forbidden"})
    import_items("one", [read(OLD)])
    return study


@pytest.fixture
def editor(study, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    return sign_in(study)


def keys() -> list[str]:
    return sorted(Item.everything.values_list("key", flat=True))


def send(client, data=NEW, **fields):
    file = SimpleUploadedFile("items.jsonl", data)
    return client.post(PAGE, {"file": file, "task": "preference"} | fields, follow=True)


def test_a_command_replaces_everything_and_says_how_much(study, tmp_path, capsys):
    path = tmp_path / "new.jsonl"
    path.write_bytes(NEW)

    call_command("import_items", "one", path, "--replace", "--yes")

    said = capsys.readouterr().out
    assert "Imported 3 items and 3 personas into “one” in place of 2 items and 2 personas" in said
    assert keys() == ["x2", "x3", "x4"]
    assert sorted(Persona.objects.values_list("key", flat=True)) == ["p2", "p3", "p4"]
    study.refresh_from_db()
    assert "redistribution" not in study.source
    assert study.log.filter(event="items imported").first().detail["removed"] == 2


def test_a_check_replaces_nothing(study, tmp_path, capsys):
    path = tmp_path / "new.jsonl"
    path.write_bytes(NEW)

    call_command("import_items", "one", path, "--replace", "--dry-run")

    assert "Would import 3 items and 3 personas into “one” in place of" in capsys.readouterr().out
    assert keys() == ["x1", "x2"]


@pytest.mark.parametrize(("typed", "kept"), [("no", True), ("yes", False)])
def test_a_person_at_a_terminal_sees_the_counts_first(study, tmp_path, monkeypatch, typed, kept):
    path = tmp_path / "new.jsonl"
    path.write_bytes(NEW)
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return typed

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", answer)

    if kept:
        with pytest.raises(CommandError, match="Nothing was replaced"):
            call_command("import_items", "one", path, "--replace")
    else:
        call_command("import_items", "one", path, "--replace")

    assert asked == ["Replace 2 items and 2 personas of “one” by 3 items? Type yes: "]
    assert ("x1" in keys()) is kept


def test_items_that_somebody_was_given_or_answered_stay(study):
    annotator = walk_in(study)

    with pytest.raises(StudyError, match="cannot be replaced: its items have assignments"):
        import_items("one", [read(NEW)], replace=2)
    answer_all(annotator)
    with pytest.raises(StudyError, match="cannot be replaced: the study has answers"):
        import_items("one", [read(NEW)], replace=2)

    assert keys() == ["x1", "x2"]


def test_items_that_a_judge_is_asked_about_stay(study):
    start_run(
        RunSpec(study_id=study.pk, judge_id=make_judge(base_url="http://127.0.0.1:9/v1").pk),
        enqueue=False,
    )

    with pytest.raises(StudyError, match="cannot be replaced: its items have judgments"):
        import_items("one", [read(NEW)], replace=2)

    assert keys() == ["x1", "x2"]


def test_the_page_offers_it_with_the_counts_and_does_it(editor):
    assert "Replace the 2 items and 2 personas of this study" in editor.get(PAGE).text

    page = send(editor, replace="on", seen="2").text

    assert "in place of 2 items and 2 personas" in page
    assert keys() == ["x2", "x3", "x4"]


def test_the_page_refuses_if_the_count_changed_or_items_are_fixed(editor, study):
    changed = send(editor, replace="on", seen="5")
    assert (changed.status_code, "now has 2 items, not 5" in changed.text) == (422, True)

    walk_in(study)
    gone = send(editor, replace="on", seen="2")

    assert (gone.status_code, "cannot be replaced" in gone.text) == (422, True)
    assert "Replace the" not in editor.get(PAGE).text
    assert keys() == ["x1", "x2"]


def test_a_worker_replaces_too(editor, monkeypatch):
    monkeypatch.setattr("studies.importers.uploads.INLINE_BYTES", 10)
    send(editor, replace="on", seen="2")

    job = run_import(job_id=ImportJob.objects.get().pk)

    assert "in place of 2 items and 2 personas" in job.message
    assert keys() == ["x2", "x3", "x4"]


HEADER = "id,persona_id,persona_text,question,response_1,response_2"
ROWS = ["a,p,Cooks.,What?,Go,Stay", "b,p,Cooks.,Why?,Go,Stay", "c,p,Cooks.,How?,Go,Stay"]


def csv_of(column: str, *values: str) -> bytes:
    rows = (f"{row},{value}" for row, value in zip(ROWS, values, strict=True))
    return "\n".join([f"{HEADER},{column}", *rows]).encode()


@pytest.mark.parametrize("column", ["label", "Own answer", "ground_truth", "first_person.label"])
def test_a_column_that_can_only_be_the_own_answer_is_read_as_it(column):
    found = read(csv_of(column, "1", "r2", ""), name="items.csv")

    assert [item.values["first_person"] for item in found.items] == ["r1", "r2", ""]
    assert found.notes == {f"rows whose column “{column}” was read as first_person": 3}
    assert found.warnings == []


@pytest.mark.parametrize(
    ("column", "values"),
    [("label", "1,2,3"), ("label", "sport,news,"), ("choice", "1,2,1")],
)
def test_a_column_that_may_mean_something_else_is_kept_and_warned_of(column, values):
    found = read(csv_of(column, *values.split(",")), name="items.csv")

    assert {item.values["first_person"] for item in found.items} == {""}
    assert [w.message for w in found.warnings if "not read as the person's own answer" in w.message]


def test_a_file_with_the_column_of_the_format_needs_no_other():
    data = csv_of("first_person,label", "1,2", "2,2", "tie,1")

    found = read(data, name="items.csv")

    assert [item.values["first_person"] for item in found.items] == ["r1", "r2", "tie"]
    assert "“label” is not part of the format" in found.warnings[0].message


def test_the_summary_counts_own_answers(study):
    data = [raw_item(8), raw_item(9, first_person=None)]

    assert "Own answers: 1 of 2 items." in str(import_items("one", [read(jsonl(*data))]))
    assert "Own answers: none of 1 item, so" in str(
        import_items("one", [read(jsonl(raw_item(7, first_person=None)))])
    )
