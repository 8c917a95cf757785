"""The administrators' pages: only superusers see them, and they show every study."""

import csv
import errno
import io
import time
import zipfile
from pathlib import Path
from unittest import mock

import openpyxl
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from analysis.lifecycle.storage import report_dir
from analysis.models import Report
from studies.models import Backup, Membership, Retention
from studies.services.accounts import team
from studies.services.accounts.credentials import BEGUN, create_token, find_token
from studies.version import version
from tests.config.test_access import HIDDEN, NO_SUCH_METHOD, answers, client_of
from tests.extras.administration.access import OTHERS
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
        "headline": {"state": "cannot_tell", "judge": "steady", "run": "r"},
        "human": {
            "majority": {"accuracy": 0.65, "n": 20, "clusters": {"ci": [0.41, 0.83]}},
            "agreement": {
                "krippendorff_alpha": {
                    "value": 0.2451,
                    "ci": [0.1, 0.4],
                    "ci_made": {"n_items": 20},
                }
            },
        },
        "comparison": [
            {"run": "other"},
            {
                "run": "r",
                "difference_general": {
                    "value": 0.05,
                    "ci": [-0.1, 0.2],
                    "ci_as_best": [-0.15, 0.2],
                    "n": 19,
                },
            },
        ],
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
    for text in ("0.245", "0.100 to 0.400", "65.0 %", "41.0–83.0", "20 items", "+5.0", "−15.0 to"):
        assert text in page
    for text in ("19 items", "not yet known", "steady", "ada"):
        assert text in page
    assert f"/studies/s/reports/{report.public_id}/report.html" in page


@pytest.mark.parametrize(
    ("query", "is_found"),
    [
        ("search=min", True),
        ("search=AD", True),
        ("search=nobody", False),
        ("state=open", True),
        ("state=draft", False),
        ("state=archived", False),
        ("people=simulated", False),
        ("people=real&state=unknown", True),
    ],
)
def test_agreement_is_filtered_on_the_page_and_in_its_files(
    client, administrator, report, query, is_found
):
    address = f"/administration/?{query}"

    assert ("&lt;b&gt;Mine" in client.get(address).content.decode()) == is_found
    table = list(csv.DictReader(client.get(f"{address}&format=csv").content.decode().splitlines()))
    book = io.BytesIO(client.get(f"{address}&format=xlsx").getvalue())
    sheet = list(openpyxl.load_workbook(book)["agreement"].values)
    assert len(table) == len(sheet) - 1 == is_found
    for row in table:
        assert (row["owner"], row["alpha_low"], row["difference_high"]) == ("ada", "0.1", "0.2")
        assert list(row) == list(sheet[0])


def test_one_file_has_the_latest_report_of_every_study(client, administrator, report):
    folder = report_dir(report.public_id)
    for name in ("report.html", "report.json", "tables/table_a.csv"):
        (folder / name).save(name.encode())

    sent = client.get("/administration/reports/reports.zip").getvalue()

    with zipfile.ZipFile(io.BytesIO(sent)) as bundle:
        assert bundle.testzip() is None
        assert bundle.namelist() == [
            "s/report-1/report.html",
            "s/report-1/report.json",
            "s/report-1/tables/table_a.csv",
        ]
        assert bundle.read("s/report-1/report.json") == b"report.json"


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
        client.post(
            "/administration/users/", {"action": "active", "user": user.pk, "active": active}
        )
        user.refresh_from_db()
        assert user.is_active == (active == "1")


@pytest.mark.parametrize("sent", [{}, {"active": ""}, {"active": "yes"}])
def test_a_form_that_does_not_say_so_closes_no_account(client, administrator, sent):
    user = User.objects.create_user("ada")

    response = client.post("/administration/users/", {"action": "active", "user": user.pk, **sent})

    user.refresh_from_db()
    assert (response.status_code, user.is_active) == (400, True)


def test_a_part_of_the_form_of_an_account_takes_no_right_away(client, administrator):
    user = User.objects.create_user("ada", "ada@x.example", is_superuser=True, is_staff=True)

    response = client.post(f"/administration/users/{user.pk}/", {"change": "rights"})

    user.refresh_from_db()
    assert response.status_code == 422
    assert "Send the whole form" in response.content.decode()
    assert (user.email, user.is_superuser) == ("ada@x.example", True)


def test_closing_an_account_names_the_studies_and_rights_that_it_leaves(client, administrator):
    ada, eve = User.objects.create_user("ada"), User.objects.create_user("eve")
    owner = Membership.Role.OWNER
    alone, shared, other = (make_study(slug=slug) for slug in ("alone", "shared", "other"))
    Membership.objects.create(user=ada, study=alone, role=owner)
    for user in (ada, eve):
        Membership.objects.create(user=user, study=shared, role=owner)
        Membership.objects.create(user=user, study=other, role=owner)
    team.invite(study_id=shared.pk, role="viewer", by=ada, note="Bo")

    def closed() -> str:
        sent = {"user": ada.pk, "active": "0"}
        shown = client.post("/administration/users/", {"action": "active"} | sent, follow=True)
        return shown.content.decode()

    page = closed()

    assert "“alone”: no owner is left who can sign in." in page
    assert "“shared”: these work through the account: invitation as viewer for Bo." in page
    assert "“other”" not in page

    Membership.objects.create(user=eve, study=alone, role=owner)
    for study in (alone, shared):
        team.remove_member(study_id=study.pk, user_id=ada.pk, by=administrator)
    assert "leaves studies behind" not in closed()


def test_nobody_closes_their_own_account(client, administrator):
    client.post(
        "/administration/users/", {"action": "active", "user": administrator.pk, "active": "0"}
    )

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


def test_the_server_page_answers_on_a_full_disk(client, administrator, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    full = OSError(errno.ENOSPC, "No space left on device")

    with mock.patch.object(Path, "write_text", side_effect=full):
        page = client.get("/administration/server/")

    assert page.status_code == 200
    assert "kept in unknown: No space left on device" in page.content.decode()


def test_an_account_is_created_and_gets_other_rights(client, administrator):
    sent = {
        "username": "ada",
        "email": "ada@lab.example",
        "password1": "seven quiet herons",
        "password2": "seven quiet herons",
        "may_create": "on",
    }
    assert client.post("/administration/users/new/", {**sent, "email": ""}).status_code == 422
    client.post("/administration/users/new/", {**sent, "is_superuser": "on"})
    ada = User.objects.get(username="ada")
    assert ada.has_perm("studies.add_study")
    assert not ada.is_superuser

    rights = {"change": "rights", "email": "a@lab.example", "is_administrator": "on"}
    client.post(f"/administration/users/{ada.pk}/", rights)

    ada = User.objects.get(username="ada")
    assert (ada.email, ada.is_superuser, ada.user_permissions.count()) == ("a@lab.example", True, 0)


def test_rights_need_the_password_some_time_after_signing_in(client, administrator):
    ada = User.objects.create_user("ada")
    session = client.session
    session[BEGUN] = int(time.time()) - 3600
    session.save()

    sent = client.post(
        f"/administration/users/{ada.pk}/", {"change": "rights", "is_administrator": "on"}
    )

    assert sent.status_code == 422
    ada.refresh_from_db()
    assert not ada.is_superuser


def test_the_last_administrator_stays_one(client, administrator):
    sent = client.post(f"/administration/users/{administrator.pk}/", {"change": "rights"})

    assert sent.status_code == 422
    administrator.refresh_from_db()
    assert administrator.is_superuser


def test_a_new_password_ends_the_sessions_of_who_lost_the_old_one(client, administrator):
    ada = User.objects.create_user("ada", password="old")
    other = Client()
    other.force_login(ada)

    client.post(
        f"/administration/users/{ada.pk}/",
        {"change": "password", **dict.fromkeys(("new_password1", "new_password2"), "new herons 7")},
    )

    ada.refresh_from_db()
    assert ada.check_password("new herons 7")
    assert other.get("/studies/").status_code == 302


def test_the_server_page_shows_the_newest_backup_and_what_is_due(client):
    client.force_login(User.objects.create_superuser("root"))
    page = client.get("/administration/server/").content.decode()
    assert "No backup yet." in page
    assert "every night by a timer: see" in page
    assert "command" not in page
    Backup.objects.create(file="/backups/<x>.zip", sha256="0" * 64, size=2048)
    Retention.objects.create(study=make_study(title="Late"), obstacle="It is open.")

    page = client.get("/administration/server/").content.decode()

    assert "/backups/&lt;x&gt;.zip" in page
    assert "Late is due for deletion but cannot be deleted yet." in page


@pytest.mark.parametrize("role", ["viewer", "editor", "owner", "staff"])
def test_the_pages_exist_only_for_superusers(role):
    study = None if role == "staff" else make_study()
    client = client_of(role, study, is_staff=role == "staff")
    root = client_of("root", is_superuser=True)

    for route in OTHERS:
        assert set(answers(client, route, {})) <= {HIDDEN, NO_SUCH_METHOD}, route
        if "_id>" not in route:  # there may be none of that number
            assert answers(root, route, {})[0] in (200, NO_SUCH_METHOD), route


@pytest.mark.parametrize(
    ("action", "sent"), [("active", [{"active": "0"}, {"active": "1"}]), ("end_all", [{}])]
)
def test_an_account_that_was_closed_or_ended_keeps_no_session_and_token(
    client, administrator, action, sent
):
    user, thief = User.objects.create_user("tina"), Client()
    thief.force_login(user)
    token = create_token(user=user, name="thief", days=30, scopes=["read"])

    for each in sent:
        client.post("/administration/users/", {"action": action, "user": user.pk, **each})

    assert find_token(token) is None
    assert thief.get("/studies/").status_code == 302


def test_the_server_page_names_a_part_that_does_not_work(client, administrator, monkeypatch):
    states = {"worker": "silent for 300 seconds"}
    monkeypatch.setattr("extras.administration.selectors.processes", lambda: states)

    page = client.get("/administration/server/").content.decode()

    assert "Worker: silent for 300 seconds" in page
    assert version() in page
