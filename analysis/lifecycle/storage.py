"""Stored reports and exports: permissions, files, and removal with a study."""

import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import ExpressionWrapper, F, IntegerField, QuerySet
from django.shortcuts import get_object_or_404

from analysis.data.answer_rows import exclusions_since, withdrawn_answers
from analysis.data.frozen_plan import keeper
from analysis.errors import BadParameters, ForeignFiles
from analysis.models import ComparedItem, Export, Report
from analysis.report.added_files import MORE
from analysis.report.rules import DEFAULT_BOOTSTRAP, DEFAULT_SEED
from studies.file_storage.storage import Stored
from studies.jobs.models import Job
from studies.models.studies import Membership, Study
from studies.selectors import studies_for
from studies.services.whole_studies import StudyContent
from studies.statements import clock


def reports_for(
    user: User | AnonymousUser, slug: str, *, role: str = Membership.Role.VIEWER
) -> QuerySet[Report]:
    """Reports of the study `slug` in which `user` has `role`, newest first, without their results.

    `withdrawn_since` is the number of answers withdrawn after each was built, `excluded_since` the
    number of exclusions and reversals since it was requested.
    """
    studies = studies_for(user, role=role).filter(slug=slug)
    return marked(Report.objects.filter(study__in=studies)).defer("result")


def marked(reports: QuerySet[Report]) -> QuerySet[Report]:
    """The reports with `withdrawn_since` and `excluded_since`; either one means superseded."""
    since = ExpressionWrapper(
        withdrawn_answers() - F("withdrawn_answers"), output_field=IntegerField()
    )
    return reports.select_related("study", "requested_by").annotate(
        withdrawn_since=since, excluded_since=exclusions_since()
    )


def get_report(
    user: User | AnonymousUser, slug: str, public_id: str, *, role: str = Membership.Role.VIEWER
) -> Report:
    """One report; 404 if it does not exist or the user cannot see it."""
    return get_object_or_404(reports_for(user, slug, role=role), public_id=public_id)


@dataclass(frozen=True)
class Registered:
    """Default parameters of a report: the plan's values, or the general defaults."""

    threshold: int
    margin: float
    seed: int
    bootstrap: int


def registered(study: Study) -> Registered:
    """Read the values for pages and defaults. Only building a report checks the seal."""
    plans = keeper()
    fixed: Mapping[str, Any] = plans.content(study) if plans else {}
    return Registered(
        threshold=fixed.get("threshold", study.certainty_threshold),
        margin=fixed.get("margin", study.equivalence_margin),
        seed=fixed.get("seed", DEFAULT_SEED),
        bootstrap=fixed.get("bootstrap", DEFAULT_BOOTSTRAP),
    )


BOOTSTRAP_RANGE = (100, 100_000)
ITEM_ROWS = "item_rows"  # the folder of a report with the rows of items that its page asks for
# Every JSON reader keeps a seed up to this value exactly.
SEED_RANGE = (0, 2**53)


def check_parameters(*, threshold: int | None, seed: int | None, bootstrap: int | None) -> None:
    """Raise `BadParameters` for a value out of range; None takes the default."""
    if threshold is not None and not 1 <= threshold <= 100:
        raise BadParameters(f"The threshold is {threshold}. Use 1 to 100.")
    if seed is not None and not SEED_RANGE[0] <= seed <= SEED_RANGE[1]:
        raise BadParameters(f"The seed is {seed}. Use 0 to 2^53.")
    low, high = BOOTSTRAP_RANGE
    if bootstrap is not None and not low <= bootstrap <= high:
        raise BadParameters(f"The number of resamples is {bootstrap}. Use {low} to {high:,}.")


def report_dir(public_id: str) -> Stored:
    return Stored(f"reports/{public_id}")


def report_folder(report: Report) -> Stored:
    return report_dir(report.public_id)


# Copies that name annotators are needed only briefly and kept only for a short time.
_IDENTIFIED_KEPT = timedelta(days=1)


def export_dir(public_id: str) -> Stored:
    return Stored(f"exports/{public_id}")


def export_folder(export: Export) -> Stored:
    return export_dir(export.public_id)


def remove_files(public_id: str) -> None:
    export_dir(public_id).delete()


def kept_for(export: Export) -> timedelta:
    """The time for which a finished file can be downloaded."""
    return _IDENTIFIED_KEPT if export.names_people else timedelta(days=settings.EXPORT_DAYS)


def content_of(study: Study) -> StudyContent:
    reports, exports = Report.objects.filter(study=study), Export.objects.filter(study=study)
    obstacles = []
    if any(jobs.filter(state__in=Job.OPEN).exists() for jobs in (reports, exports)):
        obstacles.append("A report or an export is being created. Wait until it is finished.")
    folders = [report_folder(report) for report in reports.only("public_id")]
    folders += [export_folder(export) for export in exports.only("public_id")]
    counts = [("reports", reports.count()), ("exports", exports.count())]
    return StudyContent(counts, obstacles, folders)


_GONE = "Deleted because a person in it withdrew their consent. Export again."


def remove_files_and_rows(study: Study, items: Collection[int]) -> None:
    """Delete the files of exports of a study, and rows about items in its lists.

    Reports stay, as after any withdrawal, and are marked as superseded wherever they are shown.
    """
    ComparedItem.objects.filter(comparison__study=study, item__in=items).delete()
    exports = Export.objects.filter(study=study).exclude(state=Export.State.GONE)
    for public_id in list(exports.values_list("public_id", flat=True)):
        transaction.on_commit(partial(remove_files, public_id))
    exports.update(state=Export.State.GONE, message=_GONE, expires_at=clock.now())


# The first one marks a folder as a report's.
_OF_REPORT = (
    "report.json",
    "report.html",
    "tables",
    "figures",
    ITEM_ROWS,
    "cite.bib",
    "methods.txt",
)


def files_of_report() -> list[str]:
    """The names of all files and folders that a report can have."""
    return [*_OF_REPORT, *(path for files in MORE for path in files.paths)]


@contextmanager
def replaced(out: Path) -> Iterator[Path]:
    """A draft folder whose files replace those of a report in `out` at the end.

    So no reader sees half a report.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        yield draft
        out.mkdir(exist_ok=True)
        for name in files_of_report():
            target, source = out / name, draft / name
            if target.is_dir():
                shutil.rmtree(target)
            if source.exists():
                source.replace(target)
            else:
                target.unlink(missing_ok=True)  # of an earlier report
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def holds(folder: Path, name: str) -> bool:
    """Whether `folder` has an earlier result of this program in `NAME.json`."""
    words = f'{{\n "schema": "thirdperson.{name}/'
    try:
        with (folder / f"{name}.json").open(encoding="utf-8", errors="replace") as file:
            return file.read(len(words)) == words
    except OSError:
        return False


def check_output_folder(folder: Path, names: Iterable[str], *, is_ours: bool) -> None:
    """Raise `ForeignFiles` if `folder` has one of `names` and no earlier result (`is_ours`)."""
    there = [name for name in names if (folder / name).exists()]
    if there and not is_ours:
        raise ForeignFiles(
            f"{folder} contains {there[0]}, which this command did not create and would replace. "
            "Choose a new or empty folder, or the folder of an earlier result."
        )
