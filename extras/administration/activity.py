"""The page with a study's activity: who changed what and when, with filters and as a file."""

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.views.decorators.http import require_GET

from studies.models import Study, StudyLog
from studies.money import format_money
from studies.pages.responses import LongList, csv_response
from studies.pages.workbench import SectionPage
from studies.selectors import get_study

_PER_PAGE = 50
_MONEY = ("cost", "total")  # details in minor units


@require_GET
@login_required
def activity(request: HttpRequest, slug: str) -> HttpResponse:
    """The log with its filters in the query; with `?format=csv` as a file."""
    study = get_study(request.user, slug)
    chosen = {name: request.GET.get(name, "") for name in ("event", "user", "since", "until")}
    selected = _filtered(study, chosen)
    if request.GET.get("format") == "csv":
        return _file(study, selected)
    key = (study.pk, *chosen.values())
    page = LongList(selected, _PER_PAGE, name="activity", key=key).get_page(request.GET.get("page"))
    entries = study.log.order_by()
    users = entries.exclude(user=None).values_list("user__username", flat=True)
    context = {
        "study": study,
        "chosen": chosen,
        "page": page,
        "entries": [(entry, facts(entry.detail, study.currency)) for entry in page],
        "events": sorted(entries.values_list("event", flat=True).distinct()),
        "users": sorted(users.distinct()),
    }
    return render(request, "activity/activity.html", context)


def _filtered(study: Study, chosen: dict[str, str]) -> QuerySet[StudyLog]:
    entries = study.log.select_related("user")
    if chosen["event"]:
        entries = entries.filter(event=chosen["event"])
    if chosen["user"]:
        entries = entries.filter(user__username=chosen["user"])
    if since := _day(chosen["since"]):
        entries = entries.filter(created_at__gte=since)
    if until := _day(chosen["until"]):
        entries = entries.filter(created_at__lt=until + dt.timedelta(days=1))
    return entries


def _day(text: str) -> dt.datetime | None:
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


def facts(detail: Mapping[str, Any], currency: str) -> list[tuple[str, str]]:
    """The details of a log entry; a changed setting has its old and new value."""
    before, after = detail.get("before"), detail.get("after")
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return [(name, f"{_short(before[name])} → {_short(after.get(name))}") for name in before]
    return [
        (name, format_money(value, currency) if name in _MONEY else _short(value, 200))
        for name, value in detail.items()
    ]


def _short(value: Any, most: int = 100) -> str:
    text = " ".join(_words(value).split()) or "–"
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _words(value: Any) -> str:
    """A value of JSON as people write it; what is empty within it is left out."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_words(part)}" for name, part in value.items() if part)
    if isinstance(value, list):
        return ", ".join(map(_words, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def section_page(study: Study) -> list[SectionPage]:
    address = reverse("activity:log", args=[study.slug])
    return [SectionPage("settings", "Activity", address, once="items")]
