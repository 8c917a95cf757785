"""The page of versions side by side."""

import shutil
from unittest.mock import patch

import pytest
from django.test import override_settings
from django.urls import reverse

from analysis import tasks
from analysis.lifecycle.requests import request_report
from analysis.lifecycle.storage import report_dir
from analysis.models import Report
from annotation.models import Annotation
from extras.report_readers.recomputed.comparison import compare_reports
from tests.analysis.builders import little_study
from tests.factories import sign_in
from tests.stored import path_of

pytestmark = pytest.mark.django_db


def page(study):
    return reverse("comparison:reports", args=[study.slug])


@pytest.fixture(scope="module")
def built_versions(module_db, tmp_path_factory):
    """Ids of two reports, an answer being released in between, and the `VAR_DIR` of their files."""
    folder = tmp_path_factory.mktemp("versions")
    study = little_study(61, n_items=12)
    reports = []
    with override_settings(VAR_DIR=folder), patch.object(tasks.build_report, "delay_on_commit"):
        for _ in range(2):
            reports.append(request_report(study_id=study.pk, bootstrap=100).pk)
            tasks.build_report(reports[-1])
            first = Annotation.objects.earliest("pk")
            Annotation.objects.filter(pk=first.pk).update(standing="released")
    return reports, folder


@pytest.fixture
def two_versions(built_versions, settings, tmp_path):
    ids, folder = built_versions
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    settings.VAR_DIR = tmp_path
    reports = [Report.objects.get(pk=pk) for pk in ids]
    return reports[0].study, reports


@pytest.mark.nightly
def test_versions_stand_side_by_side_with_what_changed(two_versions):
    study, (first, second) = two_versions
    client = sign_in(study, "viewer")

    shown = client.get(page(study)).content.decode()

    assert (first.number, second.number) == (1, 2)
    assert '<th scope="col">v1</th><th scope="col">v2</th>' in shown
    assert "inputs.annotations" in shown
    assert "▲ yes" in shown


@pytest.mark.nightly
def test_other_versions_can_be_chosen_and_a_wrong_choice_is_told(two_versions):
    study, (first, second) = two_versions
    client = sign_in(study, "viewer")
    address = page(study)

    turned = client.get(address, {"before": second.public_id, "after": first.public_id})
    wrong = client.get(address, {"before": "nothing", "after": first.public_id})

    assert [report.number for report in turned.context["chosen"]] == [2, 1]
    assert wrong.status_code == 422
    assert "There is a problem" in wrong.content.decode()


def test_changed_items_are_counted_from_the_files_of_the_reports(two_versions):
    study, (first, second) = two_versions
    client = sign_in(study, "viewer")

    assert compare_reports(first, second).n_items == 1

    shutil.rmtree(path_of(report_dir(first.public_id)))
    assert compare_reports(first, second).n_items is None
    shown = client.get(page(study)).content.decode()
    assert "The items were not compared one by one" in shown
