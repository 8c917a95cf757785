"""The doctor finds what was planted, repairs what follows from other data, and nothing else."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import F

from analysis.lifecycle.storage import export_folder as export_folder
from analysis.lifecycle.storage import report_folder as report_folder
from analysis.models import Export, Report
from annotation.models import (
    Annotation,
    AnnotationRevision,
    Annotator,
    Assignment,
    Bonus,
    BonusPayment,
    Draft,
    ProlificAccount,
    ProlificStudy,
    ProlificSubmission,
    QuotaGroup,
)
from annotation.prolific.money import IN_FULL, PARTIAL
from config import health
from extras.administration.doctor.examination import CHECKS, examine
from judging.models import Attempt, Campaign, Judge, JudgeRun, Judgment
from studies.jobs.models import STALLED_AFTER
from studies.models import FilesLocation, Heartbeat, ImportJob, Item, Study
from studies.services.studies import record
from studies.statements import clock
from tests.factories import make_annotator
from tests.stored import path_of

pytestmark = pytest.mark.django_db


def found() -> dict[str, int]:
    return {one.check.name: one.count for one in examine() if one.count}


def doctor(*options: str) -> str:
    out = StringIO()
    call_command("doctor", *options, stdout=out)
    return out.getvalue()


def refused_by_doctor(*options: str) -> set[str]:
    """The checks that a doctor names who ends with an error."""
    out = StringIO()
    with pytest.raises(CommandError, match="found"):
        call_command("doctor", "--json", *options, stdout=out)
    return {one["check"] for one in json.loads(out.getvalue())["checks"] if one["faults"]}


@contextmanager
def without_foreign_keys() -> Iterator[Any]:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET session_replication_role = replica")
        else:
            cursor.execute("PRAGMA defer_foreign_keys = ON")
        try:
            yield cursor
        finally:
            if connection.vendor == "postgresql":
                cursor.execute("SET session_replication_role = DEFAULT")


def raise_an_item_counter(study: Study) -> None:
    item = Item.objects.filter(study=study, seats_taken__lt=F("seats_needed")).first()
    Item.objects.filter(pk=item.pk).update(seats_taken=F("seats_taken") + 1)


def lower_a_group_counter(study: Study) -> None:
    group = QuotaGroup.objects.filter(study=study, completed=1).get()
    QuotaGroup.objects.filter(pk=group.pk).update(completed=0)


def take_a_seat_away(study: Study) -> None:
    item = Item.objects.filter(study=study, seats_taken__lte=1).first()
    Item.objects.filter(pk=item.pk).update(seats_needed=1)


def lose_an_answer(study: Study) -> None:
    answer = Annotation.objects.filter(standing="counted").first()
    answer.revisions.all().delete()
    answer.delete()


def lose_a_revision(study: Study) -> None:
    AnnotationRevision.objects.filter(number=1, annotation__revision=2).delete()


def change_an_answer(study: Study) -> None:
    first = Annotation.objects.filter(standing="counted", choice="r1").first()
    Annotation.objects.filter(pk=first.pk).update(choice="r2")


def lose_the_place_of_a_draft(study: Study) -> None:
    place = Draft.objects.get().assignment_id
    with without_foreign_keys() as cursor:
        cursor.execute("DELETE FROM annotation_assignment WHERE id = %s", [place])


def pay_a_bonus(study: Study, reason: str, *, status: str = "RETURNED") -> BonusPayment:
    """To the same person each time, under another submission."""
    row, _ = ProlificStudy.objects.get_or_create(study=study, places=3)
    payment = BonusPayment.objects.create(prolific_study=row)
    submission = ProlificSubmission.objects.create(
        prolific_study=row,
        submission_id=f"s{payment.pk}",
        status=status,
        annotator=Annotator.objects.filter(study=study).first(),
    )
    Bonus.objects.create(payment=payment, submission=submission, amount=5, reason=reason)
    return payment


def pay_a_bonus_and_approve(study: Study) -> None:
    pay_a_bonus(study, "thanks", status="APPROVED")
    assert found() == {}
    pay_a_bonus(study, PARTIAL)


def pay_a_part_and_the_whole(study: Study) -> None:
    pay_a_bonus(study, PARTIAL)
    assert found() == {}
    pay_a_bonus(study, IN_FULL)


def cancel_a_payment_alone(study: Study) -> None:
    payment = pay_a_bonus(study, PARTIAL)
    BonusPayment.objects.filter(pk=payment.pk).update(state="cancelled")


def spend_more_than_a_campaign_was_given(study: Study) -> None:
    campaign = Campaign.objects.create(study=study, name="c", plan={"name": "c"}, budget="0.000001")
    campaign.runs.set(JudgeRun.objects.all())


def change_the_total_of_a_run(study: Study) -> None:
    JudgeRun.objects.update(spent_nano=F("spent_nano") + 1)


def exceed_a_budget(study: Study) -> None:
    JudgeRun.objects.update(budget="0.000001")


def lose_a_request(study: Study) -> None:
    first = Judgment.objects.filter(state="done").first()
    Attempt.objects.filter(judgment=first).delete()
    JudgeRun.objects.update(spent_nano=sum(Attempt.objects.values_list("cost_nano", flat=True)))


def renumber_a_request(study: Study) -> None:
    first = Attempt.objects.order_by("pk").first()
    Attempt.objects.filter(pk=first.pk).update(number=3)


def lose_a_judgment(study: Study) -> None:
    first = Judgment.objects.filter(state="done").first()
    Attempt.objects.filter(judgment=first).delete()
    first.delete()


def reopen_a_judgment(study: Study) -> None:
    first = Judgment.objects.filter(state="done").first()
    Judgment.objects.filter(pk=first.pk).update(state="pending", choice="", certainty=None)


def seal_a_key_elsewhere(study: Study) -> None:
    Judge.objects.update(sealed_key="gAAAAABmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZg==")


def seal_a_token_elsewhere(study: Study) -> None:
    ProlificAccount.objects.create(workspace_id="w", sealed_token="gAAAAABmZmZmZg==")


def migrate_by_a_later_version(study: Study) -> None:
    health._looked_up = None  # within a minute, nobody would look again
    MigrationRecorder.Migration.objects.create(app="studies", name="9999_of_the_future")


def stop_a_worker(study: Study) -> None:
    Heartbeat.objects.create(role=Heartbeat.Role.WORKER, seen_at=clock.now() - timedelta(minutes=5))


def change_a_report(study: Study) -> None:
    path = path_of(report_folder(Report.objects.get())) / "report.json"
    document = json.loads(path.read_text())
    document["human"]["answers"] = -1
    path.write_text(json.dumps(document))


def remove_a_page(study: Study) -> None:
    (path_of(report_folder(Report.objects.get())) / "report.html").unlink()


def change_an_export(study: Study) -> None:
    export = Export.objects.get()
    path = path_of(export_folder(export)) / export.filename
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)


def leave_a_draft_folder(study: Study) -> None:
    folder = path_of(report_folder(Report.objects.get())).parent / ".left"
    folder.mkdir()
    (folder / "report.html").write_text("half")
    long_ago = time.time() - 3 * 86_400
    os.utime(folder, (long_ago, long_ago))


def leave_a_folder(study: Study) -> None:
    folder = path_of(report_folder(Report.objects.get())).parent / "unknown"
    folder.mkdir()
    (folder / "report.html").write_text("of no row")
    long_ago = time.time() - 3 * 86_400
    os.utime(folder / "report.html", (long_ago, long_ago))


def lose_an_upload(study: Study) -> None:
    ImportJob.objects.create(study=study, file_name="a.csv", reading={"files": ["a.csv"]})


def keep_files_elsewhere(study: Study) -> None:
    FilesLocation.objects.create(location="folder x", shown="/srv/x on another")


def close_the_account_of_the_owner(study: Study) -> None:
    owner = User.objects.create_user("gone", is_active=False)
    study.memberships.update(role="viewer")
    study.memberships.create(user=owner, role="owner")


def delete_the_account_of_the_owner(study: Study) -> None:
    owner = User.objects.create_user("gone")
    study.memberships.all().delete()
    study.memberships.create(user=owner, role="owner")
    record(study, "created", user=owner)
    owner.delete()


def stall_a_job(study: Study) -> None:
    Report.objects.update(state="running", heartbeat_at=F("created_at") - 2 * STALLED_AFTER)


PLANTED: list[tuple[Callable[[Study], None], set[str], bool]] = [
    # What is done, the checks that find it, and whether it follows from other data.
    (raise_an_item_counter, {"item-counters"}, True),
    (lower_a_group_counter, {"group-counters"}, True),
    (take_a_seat_away, {"seats"}, True),
    (lose_an_answer, {"answers"}, False),
    (lose_a_revision, {"revisions"}, False),
    (change_an_answer, {"revisions"}, False),
    (lose_the_place_of_a_draft, {"drafts", "references", "item-counters"}, True),
    (pay_a_bonus_and_approve, {"payments"}, False),
    (pay_a_part_and_the_whole, {"payments"}, False),
    (cancel_a_payment_alone, {"payments"}, False),
    (spend_more_than_a_campaign_was_given, {"budgets"}, False),
    (change_the_total_of_a_run, {"run-totals"}, True),
    (exceed_a_budget, {"budgets"}, False),
    (lose_a_request, {"requests", "run-totals"}, False),
    (renumber_a_request, {"ledger"}, False),
    (lose_a_judgment, {"runs", "run-totals"}, False),
    (reopen_a_judgment, {"runs"}, False),
    (seal_a_key_elsewhere, {"keys"}, False),
    (seal_a_token_elsewhere, {"keys"}, False),
    (migrate_by_a_later_version, {"migrations"}, False),
    (stop_a_worker, {"processes"}, False),
    (change_a_report, {"reports"}, False),
    (remove_a_page, {"reports"}, False),
    (change_an_export, {"exports"}, False),
    (leave_a_draft_folder, {"orphan-files"}, True),
    (leave_a_folder, {"orphan-files"}, False),
    (lose_an_upload, {"uploads"}, False),
    (keep_files_elsewhere, {"files-location"}, False),
    (stall_a_job, {"jobs"}, True),
    (close_the_account_of_the_owner, {"owners"}, False),
    (delete_the_account_of_the_owner, {"owners"}, False),
]


@pytest.mark.nightly
def test_it_finds_nothing_in_a_healthy_installation(lived_in):
    assert found() == {}
    assert "checks passed" in doctor()


@pytest.mark.nightly
def test_a_report_of_an_earlier_version_passes_and_a_changed_one_does_not(lived_in):
    report = Report.objects.get()
    report.result["software"]["code"] = "earlier"
    report.result["later"] = {"key": 1}  # as a migration may add
    del report.result["human"]["answers"]
    report.save(update_fields=["result"])
    path = path_of(report_folder(report)) / "report.json"
    document = json.loads(path.read_text())
    document["software"]["code"] = "earlier"
    path.write_text(json.dumps(document))
    assert found() == {}

    document["seed"] += 1
    path.write_text(json.dumps(document))

    assert set(found()) == {"reports"}


@pytest.mark.nightly
@pytest.mark.sampled(keep=4)
@pytest.mark.parametrize(
    ("plant", "names", "is_derived"), PLANTED, ids=[plant.__name__ for plant, *_ in PLANTED]
)
def test_it_finds_what_was_planted_and_repairs_what_is_derived(lived_in, plant, names, is_derived):
    plant(lived_in)

    assert refused_by_doctor() == names
    if is_derived:
        assert "repaired: " in doctor("--repair")
        assert found() == {}
    else:
        assert refused_by_doctor("--repair")


def test_a_repair_is_in_the_log_of_the_study_and_of_the_server(lived_in, caplog):
    raise_an_item_counter(lived_in)

    doctor("--repair")

    entry = lived_in.log.get(event="repaired by doctor")
    assert entry.detail == {"check": "item-counters", "repairs": 1}
    assert any("doctor repaired item-counters" in line for line in caplog.messages)


def test_it_changes_nothing_without_repair(lived_in):
    raise_an_item_counter(lived_in)
    before = list(Item.everything.order_by("pk").values())

    with pytest.raises(CommandError):
        doctor()

    assert list(Item.everything.order_by("pk").values()) == before


@pytest.mark.nightly
def test_seats_beyond_those_of_an_item_are_not_repaired(lived_in):
    item = Item.objects.filter(study=lived_in, seats_taken=1)[0]
    for _ in range(2):
        Assignment.objects.create(
            annotator=make_annotator(study=lived_in), item=item, position=1, shown_first="r1"
        )

    with pytest.raises(CommandError):
        doctor("--repair")

    assert found() == {"item-counters": 1, "seat-holders": 1}


def test_a_missing_constraint_is_named(lived_in):
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX bonus_once_per_reason")

    first = next(one for one in examine() if one.check.name == "constraints")

    assert [fault.sentence for fault in first.faults] == [
        "Table annotation_bonus: the constraint bonus_once_per_reason is missing."
    ]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"SECRET_KEY": "short"}, "SECRET_KEY is short"),
        ({"SECRET_KEY": "django-insecure-" + 40 * "x"}, "SECRET_KEY is short"),
        ({"ALLOWED_HOSTS": ["*"]}, "ALLOWED_HOSTS is *"),
        ({"PUBLIC_BASE_URL": "http://example.org", "ALLOWED_HOSTS": ["example.org"]}, "https"),
        ({"PUBLIC_BASE_URL": "https://example.org", "ALLOWED_HOSTS": ["localhost"]}, "lacks"),
        (
            {
                "PUBLIC_BASE_URL": "https://example.org",
                "ALLOWED_HOSTS": ["example.org"],
                "DEBUG": True,
            },
            "DEBUG is on",
        ),
    ],
)
def test_unsafe_settings_are_named(var_dir, settings, changed, words):
    for name, value in changed.items():
        setattr(settings, name, value)

    faults = [fault for one in examine(CHECKS[:1]) for fault in one.faults]

    assert len(faults) == 1
    assert words in faults[0].sentence


@pytest.mark.parametrize(
    ("check", "function", "said", "sentence"),
    [
        ("disk", "short_disks", ["40 MB free on the disk of files"], "Only 40 MB free on the"),
        ("clock", "wrong_clock", "Its clock is 12 seconds ahead.", "Its clock is 12 seconds"),
    ],
)
def test_what_health_says_is_a_fault(monkeypatch, check, function, said, sentence):
    monkeypatch.setattr(f"extras.administration.doctor.examination.{function}", lambda: said)

    (one,) = examine([each for each in CHECKS if each.name == check])

    assert [fault.sentence[: len(sentence)] for fault in one.faults] == [sentence]


def test_a_folder_that_others_can_read_is_named(lived_in, var_dir):
    var_dir.chmod(0o755)

    assert found() == {"private-files": 1}


def test_the_json_has_every_check(lived_in):
    document = json.loads(doctor("--json"))

    assert document["healthy"] is True
    assert [one["check"] for one in document["checks"]] == [check.name for check in CHECKS]
    assert all(one["faults"] == 0 and one["title"] for one in document["checks"])


def test_every_check_is_documented():
    root = Path(__file__).parents[4]
    text = (root / "extras/administration/docs/doctor.md").read_text("utf-8")

    assert [check.name for check in CHECKS if f"| `{check.name}` |" not in text] == []


def test_it_reads_in_portions(lived_in, monkeypatch):
    monkeypatch.setattr("extras.administration.doctor.checks.PORTION", 3)
    raise_an_item_counter(lived_in)

    assert found() == {"item-counters": 1}


@pytest.mark.django_db
def test_it_finds_a_broker_that_does_not_answer(settings):
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:9/0"

    assert "broker" in refused_by_doctor()
