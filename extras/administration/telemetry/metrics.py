"""The page /metrics for Prometheus; its queries do not get slower with more answers."""

import hmac
from collections.abc import Iterator
from dataclasses import dataclass, field

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError
from django.db.models import Count, Max, Min, Q, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.models import Annotator
from config.health import database_bytes, disk, free_bytes, health, processes
from judging.models import NANO, JudgeRun
from studies.jobs.models import Job
from studies.models import Backup, Retention, Study
from studies.statements import clock

# The labels of disks.
_DISKS = {"files": "files", "temporary files": "temporary", "the database": "database"}

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Metric:
    """One gauge with its values by labels."""

    name: str
    help: str
    values: dict[Labels, float] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        yield f"# HELP thirdperson_{self.name} {self.help}"
        yield f"# TYPE thirdperson_{self.name} gauge"
        for labels, value in self.values.items():
            inside = ",".join(f'{key}="{text}"' for key, text in labels)
            braces = f"{{{inside}}}" if inside else ""
            yield f"thirdperson_{self.name}{braces} {value}"


def measure() -> Iterator[Metric]:
    """All metrics; without the database, only the parts' states and the disks."""
    parts = health()
    works: dict[Labels, float] = {
        (("part", name),): int(state == "ok") for name, state in parts.items()
    }
    if parts["database"] == "ok":
        works |= {(("part", role),): int(state == "ok") for role, state in processes().items()}
    works[(("part", "disk"),)] = int(disk() == "ok")
    yield Metric("up", "Whether a part of the server works.", works)
    free = free_bytes()
    yield Metric("disk_free_bytes", "Free bytes on the disk of VAR_DIR.", {(): free["files"]})
    yield Metric(
        "disks_free_bytes",
        "Free bytes on each disk, by what is written there.",
        {(("disk", _DISKS[name]),): count for name, count in free.items()},
    )
    if parts["database"] == "ok":
        try:
            yield from list(_of_database())
        except DatabaseError:
            return


def _of_database() -> Iterator[Metric]:
    yield Metric("database_bytes", "Size of the database.", {(): database_bytes()})
    states = dict(Study.objects.order_by().values_list("state").annotate(n=Count("pk")))
    yield Metric(
        "studies",
        "Studies by state.",
        {(("state", str(state)),): states.get(state, 0) for state in Study.State.values},
    )
    working = Annotator.objects.filter(expires_at__gt=clock.now()).count()
    yield Metric("annotators_active", "Annotators who are under way.", {(): working})
    yield from _jobs()
    yield from _runs()
    taken = Backup.objects.aggregate(last=Max("taken_at"))["last"]
    if taken is not None:
        age = (clock.now() - taken).total_seconds()
        yield Metric("backup_age_seconds", "Age of the newest backup.", {(): round(age)})
    waiting = Retention.objects.exclude(obstacle="").count()
    yield Metric("retention_obstacles", "Deletions that are due but cannot be done.", {(): waiting})


def _jobs() -> Iterator[Metric]:
    counts: dict[Labels, float] = {}
    oldest: dict[Labels, float] = {}
    now = clock.now()
    for table in apps.get_models():
        if issubclass(table, Job):
            kind = ("kind", table._meta.model_name or "")
            counted = table._default_manager.order_by().aggregate(
                queued=Count("pk", filter=Q(state=Job.State.QUEUED)),
                running=Count("pk", filter=Q(state=Job.State.RUNNING)),
                since=Min("heartbeat_at", filter=Q(state=Job.State.QUEUED)),
            )
            for state in ("queued", "running"):
                counts[(kind, ("state", state))] = counted[state]
            since = counted["since"] or now
            oldest[(kind,)] = max(0, round((now - since).total_seconds()))
    yield Metric("jobs", "Jobs that have not ended.", counts)
    yield Metric("job_wait_seconds", "How long the oldest queued job has waited.", oldest)


def _runs() -> Iterator[Metric]:
    runs = JudgeRun.objects.order_by()
    states = dict(runs.values_list("state").annotate(n=Count("pk")))
    by_state: dict[Labels, float] = {
        (("state", str(s)),): states.get(s, 0) for s in JudgeRun.State.values
    }
    yield Metric("judge_runs", "Judge runs by state.", by_state)
    sums = runs.aggregate(
        nano=Sum("spent_nano", default=0),
        tokens=Sum("tokens", default=0),
        retries=Sum("retries", default=0),
    )
    yield Metric("judge_cost_dollars", "What all runs cost.", {(): sums["nano"] / NANO})
    yield Metric("judge_tokens", "Tokens that all runs used.", {(): sums["tokens"]})
    yield Metric("judge_failed_requests", "Requests without a reply.", {(): sums["retries"]})


_LOOPBACK = {"127.0.0.1", "::1"}
_FORWARDED = ("X-Forwarded-For", "Forwarded", "X-Real-IP")


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Figures for holders of METRICS_TOKEN, or if that is unset for programs on this machine."""
    if not _may_read(request):
        raise Http404

    lines = (line for metric in measure() for line in metric.lines())
    text = "\n".join(lines) + "\n"
    return HttpResponse(text, content_type="text/plain; version=0.0.4; charset=utf-8")


def _may_read(request: HttpRequest) -> bool:
    token = settings.METRICS_TOKEN  # type: ignore[misc]
    if token:
        scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
        is_right = hmac.compare_digest(sent.strip().encode(), token.encode())
        return scheme.lower() == "bearer" and is_right
    # A proxy on this machine also has a loopback address, and names the client in a header.
    is_forwarded = any(name in request.headers for name in _FORWARDED)
    return request.META.get("REMOTE_ADDR") in _LOOPBACK and not is_forwarded
