"""A whole export: everything is there, true, and comes back."""

import hashlib
import json
import zipfile

import pytest

from analysis.errors import ExportError
from analysis.exports import bundle
from analysis.exports.catalogue import BUNDLED, BundleDescription
from analysis.lifecycle.build_job import build_queued
from analysis.lifecycle.requests import request_report
from analysis.report import section
from annotation.models import Annotation
from judging.wordings import save_wording
from tests.analysis.builders import little_study
from tests.analysis.exports.helpers import export, judged


@pytest.fixture(autouse=True)
def _described(monkeypatch):
    """A file that says of each bundle what descriptions are told about its report."""
    told = BundleDescription("told", lambda contents, folder: {"described.txt": contents.report})
    monkeypatch.setattr(bundle, "DESCRIPTIONS", [told])


def test_a_whole_export_has_prompts_and_true_checksums(study, tmp_path):
    judged(study)
    text = "{{ persona }} {{ response_a }} {{ response_b }}"
    save_wording(study_id=study.pk, name="a/b", setting="standard", template=text)

    out = export(study, "all", tmp_path / "out", format="xlsx")

    lines = (out / "CHECKSUMS.sha256").read_text().splitlines()
    files = {path for path in out.rglob("*") if path.is_file()} - {out / "CHECKSUMS.sha256"}
    assert {out / line[66:] for line in lines} == files
    for line in lines:
        assert hashlib.sha256((out / line[66:]).read_bytes()).hexdigest() == line[:64]
    assert {path.name for path in (out / "prompts").iterdir()} > {"runs.json"}
    [own] = (out / "prompts").glob("wording.a_b.1.*.txt")
    assert text in own.read_text()
    for folder in ("csv", "xlsx"):
        assert {path.name for path in (out / folder).iterdir()} == {
            f"{name}.{folder}" for name in BUNDLED
        }


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
    assert "`report/` holds report v2" in (out / "described.txt").read_text()
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

    assert "Report v1 is left out because an older version" in (out / "described.txt").read_text()
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
