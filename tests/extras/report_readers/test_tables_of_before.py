"""Rows of when links, rechecks and reports on several studies were extras of their own are kept."""

import pytest
from django.utils import timezone

from analysis.models import Report
from extras.report_readers.models import Recheck, ShareLink, StudiesReport
from tests.factories import make_study
from tests.moved import update_from_before

TABLES = ("share_links_sharelink", "several_studies_studiesreport", "verification_recheck")


@pytest.mark.django_db(transaction=True)
def test_an_update_keeps_the_rows_of_the_three_tables():
    report = Report.objects.create(
        study=make_study(), number=1, threshold=80, bootstrap=100, seed=1
    )
    ShareLink.objects.create(report=report, key_hash="k", expires_at=timezone.now())
    StudiesReport.objects.create(slugs=["a", "b"])
    Recheck.objects.create(report=report)

    update_from_before("report_readers")

    rows = ShareLink.objects.get(), StudiesReport.objects.get(), Recheck.objects.get()
    assert tuple(type(row)._meta.db_table for row in rows) == TABLES
