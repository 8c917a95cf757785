"""The audit log of a study: who changed what, and when."""

import datetime as dt
import json
from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.views.decorators.http import require_GET

from studies.models import Study, StudyLog
from studies.pages.csv_response import csv_response
from studies.pages.long_lists import LongList
from studies.selectors import get_study

_PER_PAGE = 50


@require_GET
@login_required
def activity(request: HttpRequest, slug: str) -> HttpResponse:
    """The log with its filters in the query; with `?format=csv` as a file."""
    study = get_study(request.user, slug)
    chosen = {name: request.GET.get(name, "") for name in ("event", "user", "since", "until")}
    found = _filtered(study, chosen)
    if request.GET.get("format") == "csv":
        return _file(study, found)
    key = (study.pk, *chosen.values())
    context = {
        "study": study,
        "chosen": chosen,
        "entries": LongList(found, _PER_PAGE, name="activity", key=key).get_page(
            request.GET.get("page")
        ),
        "events": sorted(set(study.log.order_by().values_list("event", flat=True))),
        "users": sorted(
            set(
                study.log.order_by()
                .exclude(user=None)
                .values_list("user__username", flat=True)
                .distinct()
            )
        ),
    }
    return render(request, "studies/activity.html", context)


def _filtered(study: Study, chosen: dict[str, str]) -> QuerySet[StudyLog]:
    found = study.log.select_related("user")
    if chosen["event"]:
        found = found.filter(event=chosen["event"])
    if chosen["user"]:
        found = found.filter(user__username=chosen["user"])
    if since := _day(chosen["since"]):
        found = found.filter(created_at__gte=since)
    if until := _day(chosen["until"]):
        found = found.filter(created_at__lt=until + dt.timedelta(days=1))
    return found


def _day(text: str) -> dt.datetime | None:
    """The beginning of a day; None for a text that names none."""
    try:
        day = parse_date(text)
    except ValueError:
        day = None
    return timezone.make_aware(dt.datetime.combine(day, dt.time())) if day else None


def _file(study: Study, entries: QuerySet[StudyLog]) -> HttpResponse:
    def row(entry: StudyLog) -> list[Any]:
        name = entry.user.get_username() if entry.user else entry.detail.get("by", "")
        detail = json.dumps(entry.detail, ensure_ascii=False, sort_keys=True)
        return [entry.created_at.isoformat(), name, entry.event, detail]

    rows = (row(entry) for entry in entries.iterator(1000))
    return csv_response(f"{study.slug}-activity", ["time", "user", "event", "detail"], rows)
