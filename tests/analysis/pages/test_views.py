"""A study's report pages: who may do what, what is shown, and that imported text stays text."""

import gzip
import io
import re
import zipfile

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from analysis import tasks
from analysis.lifecycle.requests import request_report
from analysis.lifecycle.storage import ITEM_ROWS, report_dir
from analysis.models import Report
from analysis.report.rules import MORE_PAGES
from analysis.report.table_files import write_item_rows
from studies.models import Membership
from tests.factories import make_study
from tests.stored import path_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def queued(monkeypatch):
    ids: list[int] = []
    monkeypatch.setattr(tasks.build_report, "delay_on_commit", ids.append)
    return ids


@pytest.fixture
def var_dir(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    return tmp_path


def signed_in(client, study, role):
    user = User.objects.create_user(f"{role}-of-{study.slug}")
    if role != "stranger":
        Membership.objects.create(user=user, study=study, role=role)
    client.force_login(user)
    return user


def body(response) -> bytes:
    """What was sent; reading a file to its end closes it."""
    return b"".join(response.streaming_content) if response.streaming else response.content


def pages(study, report):
    plain = [reverse("analysis:list", args=[study.slug])]
    names = ["report", "open", "download", "json", "tables"]
    return plain + [reverse(f"analysis:{n}", args=[study.slug, report.public_id]) for n in names]


@pytest.mark.nightly
def test_a_viewer_reads_every_page(client, finished):
    study, report = finished
    signed_in(client, study, "viewer")

    for page in pages(study, report):
        response = client.get(page)
        assert response.status_code == 200, page
        assert body(response)


def test_a_stranger_learns_nothing(client, finished):
    study, report = finished
    signed_in(client, study, "stranger")

    assert [client.get(page).status_code for page in pages(study, report)] == [404] * 6
    reports = reverse("analysis:list", args=[study.slug])
    assert client.post(reports, {"action": "build"}).status_code == 404


def test_a_report_is_not_found_under_another_study(client, finished):
    study, report = finished
    other = make_study()
    user = signed_in(client, study, "owner")
    Membership.objects.create(user=user, study=other, role="owner")

    for page in pages(other, report)[1:]:
        assert client.get(page).status_code == 404


@pytest.mark.parametrize(
    ("sent", "stored"),
    [({}, (80, 1000, None)), ({"threshold": "70", "bootstrap": "200", "seed": "0"}, (70, 200, 0))],
)
def test_an_editor_builds_a_report_with_the_chosen_parameters(client, queued, sent, stored):
    study = make_study()
    user = signed_in(client, study, "editor")

    response = client.post(reverse("analysis:list", args=[study.slug]), {"action": "build"} | sent)

    report = study.reports.get()
    assert response.url == reverse("analysis:report", args=[study.slug, report.public_id])
    assert report.requested_by == user
    assert (report.threshold, report.bootstrap) == stored[:2]
    assert stored[2] in (None, report.seed)
    assert queued == [report.pk]


def test_bad_parameters_come_back_with_what_is_wrong(client):
    study = make_study()
    signed_in(client, study, "editor")

    response = client.post(
        reverse("analysis:list", args=[study.slug]),
        {"action": "build", "threshold": "101", "bootstrap": "5"},
    )

    text = response.content.decode()
    assert response.status_code == 422
    assert "There is a problem" in text
    assert 'value="101"' in text
    assert not study.reports.exists()


def test_a_report_under_way_shows_how_far_it_is(client):
    study = make_study()
    signed_in(client, study, "viewer")
    report = request_report(study_id=study.pk)
    Report.objects.update(state="running", progress=42, message="Measuring people.")

    page = client.get(reverse("analysis:report", args=[study.slug, report.public_id]))
    status = client.get(
        reverse("analysis:report", args=[study.slug, report.public_id]), {"progress": ""}
    )

    assert 'value="42"' in page.content.decode()
    assert status.json() == {"progress": 42, "message": "Measuring people.", "open": True}
    for name in ("open", "json", "tables", "download"):
        assert client.get(of_report(name, study, report)).status_code == 404


def test_a_report_that_failed_says_why(client):
    study = make_study()
    signed_in(client, study, "viewer")
    report = request_report(study_id=study.pk)
    Report.objects.update(state="failed", message="The disk is full.")

    page = client.get(reverse("analysis:report", args=[study.slug, report.public_id]))

    assert "The disk is full." in page.content.decode()


def test_the_open_report_has_a_policy_of_its_own(client, finished):
    study, report = finished
    signed_in(client, study, "viewer")

    response = client.get(reverse("analysis:open", args=[study.slug, report.public_id]))

    policy = response["Content-Security-Policy"]
    script = policy.split("script-src ")[1].split(";")[0]
    plotly, *hashes = script.split()
    own = policy.replace(f"{plotly} ", "")
    assert own == f"{report.content_security_policy}; frame-ancestors 'none'"
    assert plotly.startswith("http://testserver/static/vendor/plotly/")
    assert all(source.startswith("'sha256-") for source in hashes)
    assert b"<!doctype html>" in body(response)[:20]


def test_an_open_report_leads_back_and_a_downloaded_one_does_not(client, finished):
    study, report = finished
    signed_in(client, study, "viewer")
    back = f'<a href="{reverse("analysis:list", args=[study.slug])}">‹ Reports</a>'

    opened = client.get(reverse("analysis:open", args=[study.slug, report.public_id]))
    file = client.get(reverse("analysis:download", args=[study.slug, report.public_id]))

    assert back in body(opened).decode()
    assert back not in body(file).decode()


def test_pages_that_extras_add_are_made_from_the_report(client, finished):
    study, report = finished
    signed_in(client, study, "viewer")
    shown = client.get(reverse("analysis:report", args=[study.slug, report.public_id])).text

    for name in [*(page.name for page in MORE_PAGES), "unknown"]:
        address = reverse("analysis:own-page", args=[study.slug, report.public_id, name])
        page = client.get(address)
        assert (address in shown) == (page.status_code == 200) == (name != "unknown")
        if name != "unknown":
            assert study.title in page.text
            assert page["Content-Security-Policy"].startswith("default-src 'none'")
            assert client.get(address, {"judge": "nobody"}).status_code == 404
            assert client.get(address, {"judge": "steady"}).status_code == 200


def test_downloads_are_the_files_of_the_report(client, finished):
    study, report = finished
    signed_in(client, study, "viewer")

    def get(name: str) -> bytes:
        address = reverse(f"analysis:{name}", args=[study.slug, report.public_id])
        response = client.get(address)
        assert response["Content-Disposition"].startswith("attachment")
        return body(response)

    assert b'"schema": "thirdperson.report/1"' in get("json")
    with zipfile.ZipFile(io.BytesIO(get("tables"))) as bundle:
        assert {"tables/table_b.csv", "tables/table_b.tex"} <= set(bundle.namelist())
    assert get("download").startswith(b"<!doctype html>")


def test_more_reports_take_no_more_queries(client, django_assert_max_num_queries):
    study = make_study()
    signed_in(client, study, "editor")
    for threshold in range(60, 90):
        request_report(study_id=study.pk, threshold=threshold)

    with django_assert_max_num_queries(13):
        client.get(reverse("analysis:list", args=[study.slug]))


def test_the_list_does_not_load_results(client, finished, django_assert_max_num_queries):
    study, _ = finished
    signed_in(client, study, "viewer")

    with django_assert_max_num_queries(13) as captured:
        client.get(reverse("analysis:list", args=[study.slug]))

    assert not [q for q in captured.captured_queries if '"analysis_report"."result"' in q["sql"]]


def with_item_rows(report, n=5):
    rows = [[[f"i{number}", "topic"], [True], [0]] for number in range(n)]
    write_item_rows(rows, path_of(report_dir(report.public_id)) / ITEM_ROWS)
    return rows


def of_report(name, study, report, *more):
    return reverse(f"analysis:{name}", args=[study.slug, report.public_id, *more])


def test_rows_of_items_follow_a_key(client, finished, monkeypatch):
    study, report = finished
    monkeypatch.setattr("analysis.report.table_files.ROWS_PER_FILE", 2)
    rows = with_item_rows(report)
    signed_in(client, study, "viewer")
    address = of_report("item_rows", study, report)

    first = client.get(address).json()
    last = client.get(address, {"after": "i3"}).json()

    assert first == {"rows": rows[:2], "more": True}
    assert last == {"rows": rows[4:], "more": False}


def test_rows_of_items_cost_three_queries_wherever_they_begin(
    client, finished, django_assert_num_queries
):
    study, report = finished
    with_item_rows(report, n=5_000)
    signed_in(client, study, "viewer")

    for after in ("", "i4"):
        with django_assert_num_queries(3):  # session, user, report
            client.get(of_report("item_rows", study, report), {"after": after})


def test_only_members_get_rows_and_tables(client, finished):
    study, report = finished
    with_item_rows(report)
    addresses = [
        of_report("item_rows", study, report),
        of_report("table", study, report, "items"),
    ]
    assert all(client.get(page).url.startswith(reverse("login")) for page in addresses)
    other = make_study()
    user = signed_in(client, study, "stranger")
    Membership.objects.create(user=user, study=other, role="owner")

    assert [client.get(page).status_code for page in addresses] == [404, 404]
    assert client.get(of_report("item_rows", other, report)).status_code == 404


def test_a_table_is_sent_under_the_address_that_it_has_in_the_folder(client, finished):
    study, report = finished
    signed_in(client, study, "viewer")
    page = of_report("open", study, report)

    response = client.get(page.replace("report.html", "tables/table_b.csv"))

    assert body(response).startswith(b"Who,")
    assert client.get(page.replace("report.html", "tables/none.csv")).status_code == 404
    assert client.get(of_report("item_rows", study, report)).status_code == 404


def test_a_page_is_sent_compressed_and_its_drawing_script_apart(client, finished):
    study, report = finished
    signed_in(client, study, "viewer")
    address = reverse("analysis:open", args=[study.slug, report.public_id])

    whole = (report_dir(report.public_id) / "report.html").read_bytes()
    response = client.get(address, headers={"accept-encoding": "gzip"})

    assert response.headers["Content-Encoding"] == "gzip"
    page = gzip.decompress(response.content)
    assert b"<script async" not in whole
    [script] = re.findall(rb'<script async src="([^"]+)">', page)
    policy = response.headers["Content-Security-Policy"]
    assert f"script-src http://testserver{script.decode()} 'sha256-" in policy
