"""Studies and reports that several tests read."""

import shutil
from pathlib import Path
from unittest.mock import patch

import pytest
from django.test import override_settings

from analysis import tasks
from analysis.lifecycle.requests import request_report
from analysis.models import Report
from analysis.report import build
from analysis.report.build import sections
from studies.models import Study
from tests.analysis.builders import little_study
from tests.analysis.report_keys import keys_with, paths


@pytest.fixture(scope="session", autouse=True)
def every_key_is_described():
    """Every report that a test of this folder builds has only keys with a description."""
    known: set[tuple[str, ...]] = set()

    def checked(report, more, path=""):
        if new := set(paths(more)) - known:
            keys = keys_with(tuple(section.keys for section in sections()))
            unknown = sorted(".".join(path) for path in new if keys.find(path) is None)
            assert not unknown, f"analysis/report/keys.txt does not describe {', '.join(unknown)}"
            known.update(new)
        merge(report, more, path)

    merge = build.merge
    with patch.object(build, "merge", checked):
        yield


@pytest.fixture(scope="module")
def built_report(module_db, tmp_path_factory) -> tuple[int, Path]:
    """The id of a report that is built once for a module, and the `VAR_DIR` with its files."""
    folder = tmp_path_factory.mktemp("built")
    with override_settings(VAR_DIR=folder), patch.object(tasks.build_report, "delay_on_commit"):
        report = request_report(study_id=little_study(1).pk, bootstrap=100)
        tasks.build_report(report.pk)
    return report.pk, folder


@pytest.fixture
def finished(db, built_report, settings, tmp_path) -> tuple[Study, Report]:
    """A study and its finished report, with a copy of its files for one test."""
    report_id, folder = built_report
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    settings.VAR_DIR = tmp_path
    report = Report.objects.select_related("study").get(pk=report_id)
    return report.study, report
