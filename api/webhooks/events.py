"""Finding what has happened in studies that have webhooks, and storing it as rows to be sent.

Every look covers some minutes that an earlier one has covered: a transaction may commit after a
later time than its rows say. A constraint keeps an event from being stored twice.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from analysis.models import Export, Report
from api.models import Delivery, Event, Webhook
from judging.models import JudgeRun
from studies.models import Study
from studies.selectors import seat_groups
from studies.statements import clock

_OVERLAP = timedelta(minutes=10)
_ENDED = ("done", "failed")
Found = tuple[str, str, dict[str, Any]]


def find_events() -> int:
    """Store new events for every webhook that wants them; return how many. Safe to repeat."""
    stored = 0
    for webhook in Webhook.objects.select_related("study"):
        now = clock.now()
        since = max(webhook.created_at, min(webhook.seen_until, now) - _OVERLAP)
        found = [each for each in _events(webhook, since) if each[0] in webhook.events]
        stored += store(webhook, found)
        Webhook.objects.filter(pk=webhook.pk).update(
            seen_until=now, seen_seats=complete_seats(webhook.study)
        )
    return stored


def store(webhook: Webhook, found: list[Found]) -> int:
    """Store events that are not stored yet; return how many."""
    known = set(
        Delivery.objects.filter(
            webhook=webhook, subject__in=[subject for _, subject, _ in found]
        ).values_list("event", "subject")
    )
    new = [each for each in found if each[:2] not in known]
    Delivery.objects.bulk_create(
        [
            Delivery(webhook=webhook, event=event, subject=subject, payload=data)
            for event, subject, data in new
        ],
        ignore_conflicts=True,
    )
    return len(new)


def complete_seats(study: Study) -> int:
    """The answers wanted if all of them are there, else 0."""
    groups = [group for group in seat_groups(study) if group.needed]
    is_complete = all(group.answered >= group.needed for group in groups)
    return sum(group.needed * group.items for group in groups) if is_complete else 0


def _events(webhook: Webhook, since: datetime) -> Iterator[Found]:
    study = webhook.study
    data: dict[str, Any]
    runs = JudgeRun.objects.filter(study=study, ended_at__gte=since, is_imported=False)
    under_way = (*JudgeRun.ACTIVE, JudgeRun.State.PAUSED)
    for run in runs.exclude(state__in=under_way).select_related("judge"):
        assert run.ended_at is not None  # noqa: S101
        data = {"run": run.public_id, "judge": run.judge.name, "state": run.state}
        # A run that is extended ends again.
        yield Event.RUN_FINISHED, f"{run.public_id} {run.ended_at.timestamp():.3f}", data
    for report in Report.objects.filter(study=study, finished_at__gte=since, state__in=_ENDED):
        data = {"report": report.public_id, "number": report.number, "state": report.state}
        yield Event.REPORT_READY, report.public_id, data
    for export in Export.objects.filter(study=study, finished_at__gte=since, state__in=_ENDED):
        data = {"export": export.public_id, "what": export.what, "state": export.state}
        yield Event.EXPORT_READY, export.public_id, data
    seats = complete_seats(study)
    if seats and seats != webhook.seen_seats:
        yield Event.STUDY_COMPLETE, f"{seats} answers", {"answers": seats}
