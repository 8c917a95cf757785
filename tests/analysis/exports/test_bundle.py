"""A whole export: everything is there, true, and comes back."""

import hashlib
import json
import shlex
import zipfile

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from analysis.errors import ExportError
from analysis.lifecycle.build_job import build_queued
from analysis.lifecycle.requests import request_report
from analysis.report import section
from annotation.models import Annotation, QuotaGroup
from judging.wordings import save_wording
from studies.importers.items.storage import import_items
from studies.models import Item, Membership, Study
from tests.analysis.builders import little_study
from tests.analysis.exports.helpers import export, judged
from tests.studies.files import jsonl, raw_item, read


def test_a_whole_export_has_a_card_prompts_and_true_checksums(study, tmp_path):
    judged(study)
    text = "{{ persona }} {{ response_a }} {{ response_b }}"
    save_wording(study_id=study.pk, name="a/b", setting="standard", template=text)

    out = export(study, "all", tmp_path / "out")

    lines = (out / "CHECKSUMS.sha256").read_text().splitlines()
    files = {path for path in out.rglob("*") if path.is_file()} - {out / "CHECKSUMS.sha256"}
    assert {out / line[66:] for line in lines} == files
    for line in lines:
        assert hashlib.sha256((out / line[66:]).read_bytes()).hexdigest() == line[:64]
    card = (out / "README.md").read_text()
    assert card.startswith("---\npretty_name: ")
    assert "| annotations | 2 |" in card
    assert "| judgments | 1 |" in card
    assert {path.name for path in (out / "prompts").iterdir()} > {"runs.json"}
    [own] = (out / "prompts").glob("wording.a_b.1.*.txt")
    assert text in own.read_text()
    assert sorted(path.name for path in (out / "csv").iterdir()) == [
        "aggregates.csv",
        "annotations.csv",
        "annotators.csv",
        "items.csv",
        "judgments.csv",
    ]


def test_a_simulated_study_says_so_in_its_card(study, tmp_path):
    Study.objects.update(is_simulated=True)
    study.refresh_from_db()

    out = export(study, "all", tmp_path / "out")

    assert "**Answers in this data set are simulated.**" in (out / "README.md").read_text()


def test_a_title_cannot_break_out_of_the_head_of_the_card(study, tmp_path):
    study.title = "---\nlicense: mit"

    head = (export(study, "all", tmp_path / "out") / "README.md").read_text().split("---\n")[1]

    assert head.startswith('pretty_name: "---\\nlicense: mit"\n')


def test_the_card_tells_how_people_and_judges_were_asked(study, tmp_path):
    study.instructions = "Read both.\nThen choose."
    study.save()
    judged(study, model_snapshot="m-2024", replies=3)
    judged(study, sample=2, state="refused", choice="", certainty=None)
    QuotaGroup.objects.create(study=study, criteria={"gender": "woman"}, target=9, completed=5)
    QuotaGroup.objects.create(study=study, criteria={"gender": "man"}, target=9, completed=4)

    card = (export(study, "all", tmp_path / "out") / "README.md").read_text()

    assert "> Read both. Then choose.\n>\n> If an item distresses you" in card
    assert "$4.50 ($13.50 an hour)" in card
    assert "gender: woman: 5 (9); gender: man: under 5 (9)" in card
    assert "| steady | m | m-2024 | recorded answers | certainty | age |" in card
    assert "| 2 | 4 | 1 refused |" in card
    assert "| people | 2 | 0 | 2 | 0 (0.0%) |" in card
    assert "| `choice` | text | r1, r2 or tie" in card
    assert "Do not use it for decisions about individuals" in card


def test_the_card_says_nothing_of_pay_or_consent_where_answers_came_from_files(study, tmp_path):
    study.annotators.update(is_imported=True)

    card = (export(study, "all", tmp_path / "out") / "README.md").read_text()

    for words in ("an hour", "### What people agreed to", "Models received"):
        assert words not in card
    assert "The consent and instructions are not known" in card


def test_the_head_of_the_card_is_yaml_that_says_what_the_files_hold(study, tmp_path):
    out = export(study, "all", tmp_path / "out", format="parquet", licence="CC-BY-4.0")

    lines = (out / "README.md").read_text().split("---\n")[1].splitlines()
    pairs = [line.split(": ", 1) for line in lines]
    head = {key: json.loads(value) for key, value in pairs}

    assert head["license"] == "cc-by-4.0"
    assert head["size_categories"] == ["n<1K"]
    (info,) = [each for each in head["dataset_info"] if each["config_name"] == "annotations"]
    (split,) = info["splits"]
    assert split["num_examples"] == 2
    assert {"name": "certainty", "dtype": "int64"} in info["features"]
    for config in head["configs"]:
        (file,) = config["data_files"]
        assert (out / file["path"]).is_file()


@pytest.mark.parametrize(
    ("licence", "source", "head"),
    [
        ("CC0-1.0", {"licence": "CC0-1.0"}, '"cc0-1.0"'),
        ("CC-BY-4.0", {"licence": "MIT"}, '"answers: CC-BY-4.0; items: MIT"'),
        ("", {"licence": "MIT"}, '"answers: not stated; items: MIT"'),
    ],
)
def test_answers_and_items_may_be_under_different_licences(study, tmp_path, licence, source, head):
    study.source = source

    out = export(study, "all", tmp_path / "out", licence=licence)

    assert head in (out / "README.md").read_text().split("---\n")[1]
    text = (out / "LICENSE").read_text()
    assert source["licence"] in text
    assert licence in text
    assert ("not stated" in text) == (not licence)


def test_a_bundle_says_how_to_cite_it_and_its_source(study, tmp_path):
    owner = User.objects.create_user("ada", first_name="Ada", last_name="Lovelace")
    Membership.objects.create(user=owner, study=study, role="owner")
    study.source = {"name": "Bank", "url": "https://example.org", "citation": "Bank et al. 2024"}

    out = export(study, "all", tmp_path / "out", licence="CC-BY-4.0")

    lines = (out / "CITATION.cff").read_text().splitlines()
    cff = {key: json.loads(value) for key, value in (line.split(": ", 1) for line in lines)}
    assert cff["cff-version"] == "1.2.0"
    assert cff["authors"] == [{"name": "Ada Lovelace"}]
    assert cff["license"] == "CC-BY-4.0"
    assert cff["references"][0]["url"] == "https://example.org"
    assert "author = {{Ada Lovelace}}" in (out / "README.md").read_text()


def test_who_has_no_full_name_is_not_named_by_the_name_they_sign_in_with(study, tmp_path):
    owner = User.objects.create_user("ada@example.org")
    Membership.objects.create(user=owner, study=study, role="owner")

    out = export(study, "all", tmp_path / "out")

    assert "ada@" not in "".join(p.read_text() for p in out.rglob("*") if p.is_file())


def test_the_card_of_withheld_items_gives_the_command_that_rebuilds_them(tmp_path, db):
    first = import_items("one", [read(jsonl(raw_item(1)), name="my bank.jsonl")], create=True)
    study = first.study
    study.source = {"redistribution": "forbidden"}
    study.save()

    out = export(study, "all", tmp_path / "out")

    card = (out / "README.md").read_text()
    (command,) = [line for line in card.splitlines() if line.startswith("manage.py")]
    (tmp_path / "my bank.jsonl").write_bytes(jsonl(raw_item(1), raw_item(2)))
    words = shlex.split(command.replace("jsonl/items", f"{out}/jsonl/items"))[1:]
    words[1:3] = ["again", str(tmp_path / words[2])]
    call_command(*words)
    hashes = Item.everything.values_list("study__slug", "content_hash")
    (one, two) = hashes.order_by("study__slug")
    assert one == ("again", two[1])


def test_a_licence_that_nobody_knows_is_refused(study, tmp_path):
    with pytest.raises(ExportError, match="is not one of CC0"):
        export(study, "all", tmp_path / "out", licence="mine")


@pytest.mark.nightly
def test_a_bundle_holds_the_newest_report_without_rows_about_people(tmp_path, settings, db):
    settings.VAR_DIR = tmp_path / "var"
    study = little_study(1)
    for _ in range(2):
        build_queued(report_id=request_report(study_id=study.pk, bootstrap=100).pk)
    newest = study.reports.get(number=2)

    out = export(study, "all", tmp_path / "out")

    report = json.loads((out / "report/report.json").read_text())
    assert report["human"]["majority"] == newest.result["human"]["majority"]
    assert (report["items"], report["human"]["raters"]) == ([], [])
    assert list((out / "report/tables").glob("*.csv"))
    assert "`report/` holds report v2" in (out / "README.md").read_text()
    names = [f'"{annotator.pseudonym}"' for annotator in study.annotators.all()]
    files = {path for path in out.rglob("*") if path.is_file()}
    [book] = (path for path in files if path.suffix == ".xlsx")
    text = "".join(path.read_text() for path in files - {book})
    with zipfile.ZipFile(book) as parts:
        text += "".join(parts.read(name).decode() for name in parts.namelist())
    assert not any(name in text for name in names)


@pytest.mark.nightly
def test_a_report_of_an_older_version_is_named_and_left_out(tmp_path, settings, db, monkeypatch):
    monkeypatch.setattr(section, "RAISES", False)
    settings.VAR_DIR = tmp_path
    study = little_study(1, n_items=12)
    report = build_queued(report_id=request_report(study_id=study.pk, bootstrap=100).pk)
    del report.result["headline"]
    report.save(update_fields=["result"])

    out = export(study, "all", tmp_path / "out")

    assert "Report v1 is left out because an older version" in (out / "README.md").read_text()
    assert not (out / "report").exists()


@pytest.mark.nightly
def test_a_report_that_rests_on_withdrawn_answers_stays_inside(tmp_path, settings, db):
    settings.VAR_DIR = tmp_path / "var"
    study = little_study(1)
    build_queued(report_id=request_report(study_id=study.pk, bootstrap=100).pk)
    withdrawn = Annotation.objects.filter(assignment__annotator__study=study).first()
    Annotation.objects.filter(pk=withdrawn.pk).update(standing="withdrawn")

    out = export(study, "all", tmp_path / "out")

    assert not (out / "report").exists()
    assert "Withdrawn, and not in this data set: 1." in (out / "README.md").read_text()
