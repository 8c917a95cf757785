"""Rows of the administrators' pages, across all studies; the server, its work and its disk."""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Count, Max, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KT

from analysis.lifecycle.storage import report_dir
from analysis.models import Report
from analysis.report import words
from config.health import database_bytes, disk, health, processes
from config.operations.stored_files import kinds_of_files
from judging.models import JudgeRun
from studies.file_storage.folder import files_below
from studies.file_storage.storage import Stored, files_storage
from studies.jobs.models import Job
from studies.models import Backup, Membership, Study
from studies.pages.listing import ARCHIVED

# What the page needs of a report; a whole result has megabytes.
_PARTS = {
    "headline": "result__headline",
    "alpha": "result__human__agreement__krippendorff_alpha",
    "majority": "result__human__majority",
    "comparison": "result__comparison",
}


@dataclass(frozen=True)
class ReportedShare:
    """An estimate of a report with its interval and the items behind it; None where undefined."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    items: int | None = None
    estimate: str = ""
    interval: str = ""


def _share(
    value: float | None,
    interval: list[float] | None,
    items: int | None,
    estimate_words: Callable[[float | None], str],
    interval_words: Callable[[list[float] | None], str],
) -> ReportedShare:
    low, high = interval or (None, None)
    return ReportedShare(
        value, low, high, items, estimate_words(value), interval_words(interval) if interval else ""
    )


@dataclass(frozen=True)
class StudyAgreement:
    """A study's latest finished report: people among themselves, against truth, and the judge."""

    report: Report
    alpha: ReportedShare
    majority: ReportedShare
    difference: ReportedShare  # the judge's accuracy minus the majority's
    verdict: str
    judge: str

    @property
    def shares(self) -> list[ReportedShare]:
        return [self.alpha, self.majority, self.difference]


# The conclusion of the report's headline, in a word or two.
_VERDICTS = {
    "better": "judge better",
    "worse": "judge worse",
    "equivalent": "equivalent",
    "cannot_tell": "not yet known",
}


def agreement_of(studies: Sequence[Study]) -> dict[int, StudyAgreement]:
    """The agreement by study. The database extracts the parts, because results are large."""
    parts = {f"part_{name}": KT(path) for name, path in _PARTS.items()}
    return {entry.study_id: _agreement(entry) for entry in _latest(studies).annotate(**parts)}


def _latest(studies: Sequence[Study] | QuerySet[Study]) -> QuerySet[Report]:
    """The latest finished report of each study, without its result."""
    latest = (
        Report.own.filter(study=OuterRef("study"), state=Report.State.DONE)
        .order_by("-number")
        .values("pk")[:1]
    )
    return Report.objects.filter(study__in=studies, pk=Subquery(latest)).defer("result")


def _agreement(report: Report) -> StudyAgreement:
    texts = {name: getattr(report, f"part_{name}") for name in _PARTS}
    parts = {name: json.loads(text) if text else {} for name, text in texts.items()}
    headline, alpha, majority = parts["headline"], parts["alpha"], parts["majority"]
    run = headline.get("run")
    compared: dict[str, Any] = (
        next((c for c in parts["comparison"] or () if c["run"] == run), {}) if run else {}
    )
    difference = compared.get("difference_general") or {}
    return StudyAgreement(
        report,
        alpha=_share(
            alpha.get("value"),
            alpha.get("ci"),
            (alpha.get("ci_made") or {}).get("n_items"),
            words.decimal,
            words.decimal_range,
        ),
        majority=_share(
            majority.get("accuracy"),
            (majority.get("clusters") or majority).get("ci"),
            majority.get("n"),
            words.percent,
            words.percent_range,
        ),
        difference=_share(
            difference.get("value"),
            difference.get("ci_as_best") or difference.get("ci"),
            difference.get("n"),
            words.points,
            words.points_range,
        ),
        verdict=_VERDICTS.get(headline.get("state", ""), "no comparison"),
        judge=headline.get("judge") or "",
    )


def agreement_rows(studies: QuerySet[Study]) -> Iterator[dict[str, Any]]:
    """The table of agreement as rows of a file: shares from 0 to 1, empty where undefined."""
    listed = list(studies)
    owners = owners_of(listed)
    for start in range(0, len(listed), _STUDIES_AT_ONCE):
        some = listed[start : start + _STUDIES_AT_ONCE]
        agreement = agreement_of(some)
        for study in some:
            yield _file_row(study, owners.get(study.pk, ""), agreement.get(study.pk))


_STUDIES_AT_ONCE = 20
_SHARES = {
    "alpha": "Krippendorff’s alpha of the annotators’ choices",
    "majority": "share of items on which the annotators’ majority is correct",
    "difference": "the judge’s share of correct items minus the majority’s",
}
# The columns of the file with their meanings.
FILE_COLUMNS = (
    {
        "study": "short name",
        "title": "title",
        "state": "state of the study",
        "simulated": "whether its people are simulated",
        "owner": "user names of its owners",
        "created_at": "when it was created",
        "report": "number of its latest finished report, from which all that follows is taken",
    }
    | {
        f"{name}{ending}": f"{what}{of}"
        for name, what in _SHARES.items()
        for ending, of in {
            "": "",
            "_low": ": lower end of the 95 % interval",
            "_high": ": upper end of the 95 % interval",
            "_items": ": number of items",
        }.items()
    }
    | {
        "judge": "the best of the judges that compete, which the report compares with the majority",
        "verdict": "the conclusion of the report’s headline",
    }
)


def _file_row(study: Study, owner: str, agreement: StudyAgreement | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "study": study.slug,
        "title": study.title,
        "state": study.state,
        "simulated": study.is_simulated,
        "owner": owner,
        "created_at": study.created_at.isoformat(timespec="minutes"),
        "report": agreement.report.number if agreement else None,
    }
    for name in _SHARES:
        share: ReportedShare = getattr(agreement, name) if agreement else ReportedShare()
        row |= {
            name: share.value,
            f"{name}_low": share.low,
            f"{name}_high": share.high,
            f"{name}_items": share.items,
        }
    return row | {
        "judge": agreement.judge if agreement else "",
        "verdict": agreement.verdict if agreement else "no report",
    }


def owners_of(studies: Sequence[Study]) -> dict[int, str]:
    names_of: dict[int, list[str]] = {}
    owners = Membership.objects.filter(study__in=studies, role=Membership.Role.OWNER)
    for study, name in owners.order_by("pk").values_list("study", "user__username"):
        names_of.setdefault(study, []).append(name)
    return {study: ", ".join(names) for study, names in names_of.items()}


def all_studies(*, search: str = "", state: str = "", people: str = "") -> QuerySet[Study]:
    """Studies by title, short name or owner, by state, and by whether people are simulated."""
    studies = Study.objects.order_by("-created_at", "-pk")
    if typed := search.strip():
        owned = Membership.objects.filter(
            role=Membership.Role.OWNER, user__username__icontains=typed
        )
        named = Q(title__icontains=typed) | Q(slug__icontains=typed)
        studies = studies.filter(named | Q(pk__in=owned.values("study")))
    if state == ARCHIVED:
        studies = studies.filter(archived_at__isnull=False)
    elif state in Study.State.values:
        studies = studies.filter(archived_at__isnull=True, state=state)
    if people in PEOPLE:
        studies = studies.filter(is_simulated=people == "simulated")
    return studies


PEOPLE = {"real": "real people", "simulated": "simulated people"}


def all_reports() -> QuerySet[Report]:
    return Report.objects.select_related("study", "requested_by").defer("result").order_by("-pk")


def files_of_reports() -> Iterator[tuple[str, Stored]]:
    """The files of the latest finished report of every study, each with its name in an archive."""
    for report in _latest(Study.objects.order_by("slug")).select_related("study"):
        folder = report_dir(report.public_id)
        within = f"{report.study.slug}/report-{report.number}"
        for file in (folder / "report.html", folder / "report.json", *(folder / "tables").files()):
            if file.is_file():
                yield f"{within}/{str(file).removeprefix(f'{folder}/')}", file


def all_users() -> QuerySet[User]:
    return User.objects.annotate(
        studies=Count("memberships"),
        owned=Count("memberships", filter=Q(memberships__role=Membership.Role.OWNER)),
        token_used=Max("access_tokens__used_at"),
    ).order_by("username")


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class StoredFiles:
    name: str
    bytes: int
    files: int | None = None  # None for a database


def storage() -> list[StoredFiles]:
    """The database, each kind of generated files and the queue, with their sizes.

    The kinds are missing while the storage does not answer, which the part “storage” says.
    """
    try:
        kinds = [
            StoredFiles(kind.title, *files_storage().usage(kind.name)) for kind in kinds_of_files()
        ]
    except OSError as error:
        logger.warning("the sizes of files are not known: %s", error)
        kinds = []
    waiting = [size for _, size, _ in files_below(Path(settings.VAR_DIR) / "queue")]
    queue = StoredFiles("Queue of the workers", sum(waiting), len(waiting))
    return [StoredFiles("Database", database_bytes()), *kinds, queue]


@dataclass(frozen=True)
class OpenWork:
    """Jobs of one kind that wait or run, and since when the oldest has waited."""

    name: str
    waiting: int
    running: int
    oldest: datetime | None


def work() -> list[OpenWork]:
    """What workers have to do, by kind; kinds without work are left out."""
    jobs = [model for model in apps.get_models() if issubclass(model, Job)]
    runs = OpenWork(
        "Judge runs",
        JudgeRun.objects.filter(state=JudgeRun.State.QUEUED).count(),
        JudgeRun.objects.filter(state=JudgeRun.State.RUNNING).count(),
        JudgeRun.objects.filter(state=JudgeRun.State.QUEUED).aggregate(Min("created_at"))[
            "created_at__min"
        ],
    )
    kinds = [runs, *(_open_jobs(model) for model in jobs)]
    return [kind for kind in kinds if kind.waiting or kind.running]


def _open_jobs(model: type[Job]) -> OpenWork:
    waiting = Q(state=Job.State.QUEUED)
    counts = model._default_manager.aggregate(
        waiting=Count("pk", filter=waiting),
        running=Count("pk", filter=Q(state=Job.State.RUNNING)),
        oldest=Min("created_at", filter=waiting),
    )
    return OpenWork(str(model._meta.verbose_name_plural).capitalize(), **counts)


_BACKUPS_SHOWN = 20


def backups() -> list[tuple[Backup, bool]]:
    """The newest backups, and whether this web server has their files."""
    newest = Backup.objects.order_by("-taken_at")[:_BACKUPS_SHOWN]
    return [(backup, Path(backup.file).is_file()) for backup in newest]


def files_location() -> str:
    """Where generated files are kept."""
    try:
        return files_storage().location_id()[1]
    except OSError as error:  # the first to look stores the id of the place there
        return f"unknown: {error.strerror or error}"


@dataclass(frozen=True)
class ServerPart:
    name: str
    state: str

    @property
    def works(self) -> bool:
        return self.state == "ok"


def parts() -> list[ServerPart]:
    """What `/healthz` checks, part by part."""
    state_of = {**health(), "disk": disk(), **processes()}
    return [
        ServerPart(name.replace("_", " ").capitalize(), state) for name, state in state_of.items()
    ]
