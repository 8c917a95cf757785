"""Building reports: the command, the task, and what is left behind when something goes wrong."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from analysis import tasks
from analysis.lifecycle import build_job
from analysis.lifecycle.requests import request_report
from analysis.lifecycle.storage import report_dir
from analysis.models import Report
from tests.analysis.builders import little_study
from tests.factories import make_study
from tests.stored import path_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def var_dir(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    return tmp_path


@pytest.fixture
def queued(monkeypatch):
    """Ids of the reports that were handed to the broker."""
    ids: list[int] = []
    monkeypatch.setattr(tasks.build_report, "delay_on_commit", ids.append)
    return ids


def test_the_command_writes_the_page_the_numbers_and_the_tables_and_replaces_old_ones(tmp_path):
    study, out = little_study(1), tmp_path / "out"
    said = StringIO()
    for _ in range(2):
        call_command("report", study.slug, out=str(out), bootstrap=100, stdout=said)

        assert {path.name for path in out.iterdir()} == {
            *("report.html", "report.json", "tables", "figures", "cite.bib", "methods.txt")
        }
        assert {"table_b.csv", "table_b.tex"} < {path.name for path in (out / "tables").iterdir()}
        assert not (out / "tables/stale.csv").exists()
        (out / "tables/stale.csv").touch()
        (out / "item_rows").mkdir()
    assert json.loads((out / "report.json").read_text())["study"]["slug"] == study.slug
    assert "8 items" in said.getvalue()
    assert [*tmp_path.iterdir()] == [out]


@pytest.mark.nightly
def test_the_same_seed_gives_the_same_bytes_and_another_moves_intervals_alone(tmp_path):
    study = little_study(3, n_items=16)
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        call_command("report", study.slug, out=str(tmp_path / name), seed=seed, bootstrap=100)

    one = tmp_path / "one"
    # The page carries the date of its making; everything else carries no time.
    paths = [path for path in one.rglob("*.*") if path.suffix != ".html"]
    files = [str(path.relative_to(one)) for path in paths]
    assert len(files) > 40
    for name in files:
        assert (one / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    agreement, moved = (
        json.loads((tmp_path / name / "report.json").read_text())["human"]["agreement"]
        for name in ("one", "other")
    )
    assert agreement["percent"] == moved["percent"]
    assert agreement["percent_ci"] != moved["percent_ci"]


def test_an_unknown_study_fails_and_leaves_nothing(tmp_path):
    with pytest.raises(CommandError, match="There is no study “nowhere”") as caught:
        call_command("report", "nowhere", out=str(tmp_path / "out"))

    assert caught.value.returncode == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "words", "code"),
    [
        ({}, "There is no study “nowhere”", 1),
        ({"threshold": 0}, "Use 1 to 100", 2),
        ({"bootstrap": 1}, "Use 100 to", 2),
        ({"seed": -1}, "Use 0 to", 2),
    ],
)
def test_unknown_studies_and_bad_parameters_leave_nothing(tmp_path, options, words, code):
    with pytest.raises(CommandError, match=words) as caught:
        call_command("report", "nowhere", out=str(tmp_path / "out"), **options)

    assert caught.value.returncode == code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["figures", "cite.bib"])
def test_what_is_no_report_is_not_replaced(tmp_path, name):
    study = little_study(6)
    (tmp_path / name).mkdir()
    (tmp_path / name / "mine.svg").touch()

    with pytest.raises(CommandError, match=f"contains {name}, which this command did not create"):
        call_command("report", study.slug, out=str(tmp_path), bootstrap=100)

    assert [path.name for path in tmp_path.rglob("*")] == [name, "mine.svg"]


def test_a_place_that_cannot_be_written_is_named_with_what_to_do(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(CommandError, match=r"file cannot be written: .*\. Name another folder"):
        call_command("report", little_study(6).slug, out=str(tmp_path / "file"), bootstrap=100)


@pytest.mark.nightly
def test_a_requested_report_is_built_by_the_task(var_dir, queued):
    study = little_study(7)
    report = request_report(study_id=study.pk, bootstrap=100)
    assert (report.state, queued) == (Report.State.QUEUED, [report.pk])

    tasks.build_report(report.pk)

    report.refresh_from_db()
    assert (report.state, report.progress) == (Report.State.DONE, 100)
    written = json.loads((path_of(report_dir(report.public_id)) / "report.json").read_text())
    assert len(written["items"]) == written["inputs"]["items"]
    assert report.result == written | {"items": []}  # rows of items are in the files only
    assert report.inputs_hash == written["inputs"]["hash"]
    assert "sha256-" in report.content_security_policy


def test_pressing_twice_builds_once(queued):
    study = make_study()

    first = request_report(study_id=study.pk)
    second = request_report(study_id=study.pk)
    other = request_report(study_id=study.pk, threshold=70)

    assert first == second
    assert other != first
    assert len(queued) == 2


def test_asking_for_a_report_that_lost_its_worker_starts_it_again(queued, monkeypatch):
    study = make_study()
    lost = request_report(study_id=study.pk)
    long_ago = timezone.now() - timedelta(hours=1)
    Report.objects.update(state="running", heartbeat_at=long_ago, attempts=1)

    report = request_report(study_id=study.pk)

    assert report == lost
    assert (report.state, queued) == (Report.State.QUEUED, [lost.pk, lost.pk])


@pytest.mark.nightly
def test_reports_that_a_killed_worker_left_are_built_by_the_next(var_dir, queued, monkeypatch):
    monkeypatch.setattr(tasks.build_report, "delay", queued.append)
    report = request_report(study_id=little_study(9).pk, bootstrap=100)
    long_ago = timezone.now() - timedelta(hours=1)
    Report.objects.update(state="running", heartbeat_at=long_ago, progress=40, attempts=1)

    tasks.tidy_report_jobs()
    tasks.build_report(report.pk)

    report.refresh_from_db()
    assert report.state == Report.State.DONE
    assert queued == [report.pk, report.pk]


def test_a_full_disk_is_told_in_a_sentence(var_dir, queued, monkeypatch):
    report = request_report(study_id=little_study(10).pk, bootstrap=100)

    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(build_job, "write_tables", fail)

    tasks.build_report(report.pk)

    report.refresh_from_db()
    assert report.state == Report.State.FAILED
    assert "No space left on device" in report.message
    assert not path_of(report_dir(report.public_id)).exists()
    assert list((var_dir / "reports").iterdir()) == []
