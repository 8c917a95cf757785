"""Data sets into a study: by the command, on the page, out again and rebuilt."""

import json
import re
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from studies.exporters.items import item_rows
from studies.importers.sets import data_sets
from studies.importers.uploads import run_import
from studies.models import ImportJob, Item, Study
from tests.factories import make_study, sign_in
from tests.studies.files import jsonl
from tests.studies.sets.made import fixture

pytestmark = pytest.mark.django_db
ADDRESS = "/studies/one/import/"


def run(*words):
    call_command("import_items", *map(str, words))


def exported(slug, tmp_path):
    path = tmp_path / f"{slug}.jsonl"
    path.write_bytes(jsonl(*item_rows(Study.objects.get(slug=slug))))
    return path.read_bytes()


@pytest.mark.parametrize("name", data_sets())
def test_the_command_makes_a_study_that_knows_its_source(name, capsys):
    run("one", fixture(name), "--create", "--seed", 5, "--format", name)

    study = Study.objects.get()
    assert (study.title, study.task, study.language) == (
        data_sets()[name].title,
        data_sets()[name].task,
        "en",
    )
    assert study.source["licence"] == data_sets()[name].source["licence"]
    assert study.source["dataset"]["importer"]["seed"] == 5
    out = capsys.readouterr().out
    assert f"Made by: {name} 1 with seed 5" in out
    assert f"Imported {Item.objects.count()} items" in out
    (reading,) = study.log.get(event="items imported").detail["read"]
    assert (reading["format"], reading["seed"]) == (name, 5)
    assert sum(reading["rows"].values()) > 0


def test_a_limit_first_and_the_rest_later_is_one_import(tmp_path):
    run("one", fixture("pr"), "--create", "--limit", 1)
    run("one", fixture("pr"))
    run("two", fixture("pr"), "--create")

    assert exported("one", tmp_path) == exported("two", tmp_path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--option", "m=3"], "There is no option “m”. The options are: pairs|There is no option"),
        (["--option", "tie_rule=none"], "tie_rule must be one of either, both, not “none”"),
    ],
)
def test_a_bad_option_is_bad_usage(words, message):
    with pytest.raises(CommandError, match=message) as caught:
        run("one", fixture("ec"), "--create", *words)

    assert caught.value.returncode == 2
    with pytest.raises(CommandError, match="“tie_rule” has no value; write NAME=VALUE"):
        run("one", fixture("ec"), "--option", "tie_rule")


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(("name", "forbids"), [("opinionqa", True), ("ec", True), ("pr", False)])
def test_what_may_not_be_passed_on_leaves_as_hashes(name, forbids, tmp_path):
    run("one", fixture(name), "--create", "--seed", 9)

    out = tmp_path / "out"
    call_command("export", "one", "--what", "all", "--out", str(out))

    rows = [json.loads(line) for line in (out / "jsonl/items.jsonl").read_text().splitlines()]
    assert ("question" not in rows[0]) == forbids
    described = json.loads((out / "jsonl/dataset.json").read_text())
    assert described["importer"]["seed"] == 9


def uploads(folder):
    return [SimpleUploadedFile(path.name, path.read_bytes()) for path in sorted(folder.iterdir())]


def test_the_page_of_a_set_has_its_options_and_says_its_licence():
    page = sign_in(make_study(slug="one")).get(f"{ADDRESS}?set=opinionqa").content.decode()

    assert 'name="respondents"' in page
    assert 'value="200"' in page
    assert "Pew Research Center&#x27;s terms" in page
    assert "ids and hashes instead of texts" in page
    assert 'name="task"' not in page


def test_several_files_are_checked_with_the_options_and_the_report_is_shown():
    client = sign_in(make_study(slug="one"))
    fields = {"file": uploads(fixture("ec")), "tie_rule": "both", "check": ""}

    page = client.post(f"{ADDRESS}?set=ec", fields).content.decode()

    assert "No errors in the files" in page
    assert "pairs by the same writer 1, ties 1" in page
    assert "A village bridge washed away" in page
    assert not Item.objects.exists()


def test_several_files_are_imported():
    client = sign_in(make_study(slug="one"))
    fields = {"file": uploads(fixture("prism")), "pair": "best_vs_second", "limit": "2"}

    response = client.post(f"{ADDRESS}?set=prism", fields)

    assert response["Location"] == "/studies/one/"
    assert Item.objects.count() == 2
    (reading,) = Study.objects.get().log.get(event="items imported").detail["read"]
    assert reading["files"] == ["survey.jsonl", "utterances.jsonl"]
    # A box that is not ticked says no.
    assert reading["options"]["inclusive"] is False


def test_a_zip_of_a_folder_goes_through_the_worker_with_its_options(
    tmp_path, settings, monkeypatch
):
    settings.VAR_DIR = tmp_path / "var"
    monkeypatch.setattr("studies.importers.uploads.INLINE_SET_BYTES", 10)
    client = sign_in(make_study(slug="one"))
    with zipfile.ZipFile(tmp_path / "hr.zip", "w") as archive:
        for path in (fixture("opinionqa")).rglob("*.csv"):
            archive.write(path, path.relative_to(fixture("opinionqa").parent))
    file = SimpleUploadedFile("hr.zip", (tmp_path / "hr.zip").read_bytes())

    address = client.post(
        f"{ADDRESS}?set=opinionqa",
        {"file": file, "questions": "TRUST_W99", "seed": "3", "shuffle": "on"},
    )["Location"]
    run_import(job_id=ImportJob.objects.get().pk)

    page = client.get(address).content.decode()
    assert "Imported 3 items and 3 personas" in page
    assert "Do you trust the weather forecast?" in page
    assert "answers that are refused, blank or not an option 1" in page
    assert Study.objects.get().source["dataset"]["importer"]["seed"] == 3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tie_rule": "none"}, "tie_rule|Select a valid choice"),
        ({"tie_share": "2"}, "The option tie_share must be a number from 0 to 0.9"),
        ({"limit": "0"}, "greater than or equal to 1"),
        ({"seed": "x"}, "Enter a whole number"),
        ({"file": []}, "Choose a file."),
    ],
)
def test_what_is_wrong_with_an_option_is_said_at_its_field(fields, message):
    client = sign_in(make_study(slug="one"))

    response = client.post(f"{ADDRESS}?set=ec", {"file": uploads(fixture("ec"))} | fields)

    assert response.status_code == 422
    assert re.search(message, response.content.decode())


def test_two_files_of_one_name_are_not_mixed_up():
    client = sign_in(make_study(slug="one"))
    files = uploads(fixture("ec"))[:1] + uploads(fixture("ec"))[:1]

    response = client.post(f"{ADDRESS}?set=ec", {"file": files})

    assert (
        "Two files have the same name. Rename one, or zip their folders."
        in response.content.decode()
    )
