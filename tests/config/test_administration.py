"""The administrators' pages: only superusers see them, and they show every study."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from analysis.models import Report
from studies.models import Membership
from tests.factories import make_study

pytestmark = pytest.mark.django_db
PAGES = ["", "reports/", "users/", "server/"]


@pytest.fixture
def administrator(client):
    user = User.objects.create_superuser("root")
    client.force_login(user)
    return user


@pytest.fixture
def report():
    study = make_study(slug="s", title="<b>Mine</b>")
    Membership.objects.create(study=study, user=User.objects.create_user("ada"), role="owner")
    report = Report.objects.create(study=study, number=1, threshold=80, bootstrap=100, seed=1)
    result = {
        "headline": {"state": "cannot_tell", "judge": "steady"},
        "human": {
            "majority": {"accuracy": 0.65},
            "agreement": {"krippendorff_alpha": {"value": 0.2451}},
        },
    }
    Report.objects.filter(pk=report.pk).update(
        state="done", result=result, finished_at=timezone.now()
    )
    return report


@pytest.mark.parametrize("page", PAGES)
def test_an_empty_installation_has_all_pages(client, administrator, page):
    assert client.get(f"/administration/{page}").status_code == 200


def test_agreement_across_studies_comes_from_the_latest_reports(client, administrator, report):
    make_study(slug="empty")

    page = client.get("/administration/").content.decode()

    assert "&lt;b&gt;Mine" in page
    assert "<b>Mine" not in page
    for text in ("0.25", "65.0 %", "not yet known", "steady", "ada"):
        assert text in page
    assert f"/studies/s/reports/{report.public_id}/report.html" in page


def test_many_studies_cost_no_more_queries(
    client, administrator, report, django_assert_max_num_queries
):
    for _ in range(20):
        make_study()

    with django_assert_max_num_queries(8):
        client.get("/administration/")


def test_every_report_is_opened_and_downloaded_from_one_page(client, administrator, report):
    page = client.get("/administration/reports/").content.decode()

    for name in ("report.html", "download/", "report.json", "tables.zip"):
        assert f"/studies/s/reports/{report.public_id}/{name}" in page


def test_an_account_is_closed_and_opened_again(client, administrator):
    user = User.objects.create_user("ada")
    for active in ("0", "1"):
        client.post("/administration/users/active/", {"user": user.pk, "active": active})
        user.refresh_from_db()
        assert user.is_active == (active == "1")


def test_nobody_closes_their_own_account(client, administrator):
    client.post("/administration/users/active/", {"user": administrator.pk, "active": "0"})

    administrator.refresh_from_db()
    assert administrator.is_active


def test_the_server_page_shows_health_and_storage(client, administrator, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    (tmp_path / "reports" / "a").mkdir(parents=True)
    (tmp_path / "reports" / "a" / "report.html").write_bytes(b"x" * 2048)

    page = client.get("/administration/server/").content.decode()

    assert "Database works" in page
    assert "2.0\xa0KB" in page
    assert f"Generated files are kept in {tmp_path} on " in page
