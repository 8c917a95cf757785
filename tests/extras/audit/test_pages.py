"""The audit in a study: its job, page, acceptance, command, and what it does to the opening."""

import json
from io import StringIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from extras.audit.job import audit_for, audit_queued, findings_in, is_current
from extras.audit.models import AcceptedFinding, Audit
from studies.errors import OpeningRefused
from studies.importers.uploads import run_import
from studies.models import ImportJob, Item
from studies.services.studies import open_draft, registered_checks, sort_checks
from tests.factories import make_items, make_study, sign_in
from tests.studies.files import jsonl, raw_item

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    """Every item has the same wrong response."""
    study = make_study(slug="one", state="draft", entry="link")
    for n, item in enumerate(make_items(study, 60)):
        texts = [
            {"text": f"This is what person {n} would say."},
            {"text": "I never thought of it."},
        ]
        item.r1, item.r2 = texts if item.first_person == "r1" else texts[::-1]
        item.save()
    return study


def audited(study):
    audit = audit_queued(audit_id=audit_for(study).pk)
    assert audit.state == Audit.State.DONE, audit.message
    return audit


def lines(study):
    return sort_checks(registered_checks(study))


def test_a_worker_audits_the_items_and_stores_what_it_found(study):
    audit = audited(study)

    (blocking,) = (one for one in findings_in(audit) if one.level == "blocking" and one.is_found)
    assert (audit.items, blocking.check, blocking.rows.count) == (60, "reused_distractor", 60)
    assert is_current(audit)


def test_changed_items_are_audited_again(study):
    audited(study)
    assert audit_for(study).state == Audit.State.DONE

    Item.objects.filter(key__endswith="1").delete()

    assert audit_for(study).state == Audit.State.QUEUED


def test_a_blocking_finding_keeps_a_study_closed_until_it_is_accepted(study):
    audited(study)
    client = sign_in(study)
    address = reverse("audit:findings", args=["one"])
    assert any("One response in many items" in check.text for check in lines(study).blocking)

    refused = client.post(
        address, {"action": "accept", "check": "reused_distractor", "reason": "  "}
    )
    assert (refused.status_code, AcceptedFinding.objects.count()) == (422, 0)
    assert (
        client.post(address, {"action": "accept", "check": "licence", "reason": "x"}).status_code
        == 422
    )
    client.post(
        address,
        {"action": "accept", "check": "reused_distractor", "reason": "It repeats a <b>study</b>."},
    )

    assert not lines(study).blocking
    assert any("Accepted: It repeats" in check.text for check in lines(study).advice)
    page = client.get(reverse("audit:findings", args=["one"])).text
    assert "It repeats a &lt;b&gt;study&lt;/b&gt;." in page
    assert study.log.filter(event="finding of the audit accepted").count() == 1
    with pytest.raises(OpeningRefused, match="despite the advice"):
        open_draft(study=study, reason="", user=study.memberships.get().user)


def test_the_command_lists_findings_and_fails_while_one_blocks(study):
    out = StringIO()
    with pytest.raises(CommandError, match="1 finding blocks"):
        call_command("audit", "one", "--json", stdout=out)
    found = {one["check"]: one for one in json.loads(out.getvalue())}
    assert found["reused_distractor"]["effect"]["value"] == 1.0

    AcceptedFinding.objects.create(study=study, check_name="reused_distractor", reason="known")
    out = StringIO()
    call_command("audit", "one", "--all", stdout=out)
    assert "✖ blocks (accepted): One response in many items." in out.getvalue()
    assert "clear: Broken characters." in out.getvalue()


@pytest.mark.nightly
def test_an_import_on_a_page_is_audited_and_leads_to_the_findings(
    django_capture_on_commit_callbacks, settings, tmp_path
):
    settings.VAR_DIR = tmp_path
    study = make_study(slug="fresh", state="draft")
    client = sign_in(study)

    def send(name, data, **fields):
        file = SimpleUploadedFile(name, data)
        with django_capture_on_commit_callbacks(execute=True):
            sent = client.post(
                "/studies/fresh/import/", {"file": file, "task": "preference"} | fields
            )
        return sent

    send("items.jsonl", jsonl(raw_item(1)), check="")
    assert not Audit.objects.exists()
    send("items.jsonl", jsonl(raw_item(1)))
    audit = Audit.objects.get(study=study)
    audit_queued(audit_id=audit.pk)
    table = pa.Table.from_pylist([raw_item(2)])
    pq.write_table(table, tmp_path / "more.parquet")
    address = send("more.parquet", (tmp_path / "more.parquet").read_bytes())["Location"]
    run_import(job_id=ImportJob.objects.get().pk)
    audit.refresh_from_db()

    assert audit.is_open
    page = client.get(address).content.decode()
    link = reverse("audit:findings", args=["fresh"])
    assert f'<a href="{link}">See the audit of the items</a>' in page
