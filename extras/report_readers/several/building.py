"""Request and build a report about several studies, and delete it with one of them."""

from collections.abc import Collection, Iterable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction

from analysis.errors import AnalysisError
from config.operations.stored_files import KindOfFiles
from extras.report_readers.models import StudiesReport
from studies.file_storage.storage import Stored
from studies.held_copies import HeldBy, HeldCopy, PersonIn
from studies.jobs.retry import same_job
from studies.jobs.runner import JobProgress, carry_out
from studies.models import Study
from studies.selectors import studies_for
from studies.services.whole_studies import StudyContent
from studies.statements import clock

FILES = KindOfFiles("several", "Reports about several studies", (StudiesReport,))


def folder_of(report: StudiesReport) -> Stored:
    return Stored(f"several/{report.public_id}")


def pooled_of(report: StudiesReport) -> list[str]:
    """The folders of its pooled reports."""
    root = folder_of(report).path
    pages = (file.path.removeprefix(f"{root}/") for file in folder_of(report).files())
    names = (page.removesuffix("/report.html") for page in pages if page.endswith("/report.html"))
    return sorted(name for name in names if name not in report.slugs)


def reports_of(user: User | AnonymousUser) -> list[StudiesReport]:
    """The reports that `user` asked for, without those about a study that they cannot see now."""
    visible = {*studies_for(user).values_list("slug", flat=True)}
    asked = StudiesReport.objects.filter(requested_by=user.pk)
    return [report for report in asked if visible.issuperset(report.slugs)]


def about(study: Study, *states: str) -> list[StudiesReport]:
    """The reports about a study in these states."""
    reports = StudiesReport.objects.filter(state__in=states)
    return [report for report in reports if study.slug in report.slugs]


@transaction.atomic
def request_report(
    *, user: User, studies: Iterable[Study], is_pooled: bool, task: Any
) -> StudiesReport:
    """Queue a report, or return the same one if it is already being built."""
    # The lock makes two presses of the button create one report.
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    slugs = [study.slug for study in sorted(studies, key=lambda study: study.pk)]
    same = {"requested_by": user, "slugs": slugs, "is_pooled": is_pooled}
    if report := same_job(StudiesReport.objects.filter(state__in=StudiesReport.OPEN, **same), task):
        return report
    report = StudiesReport.objects.create(**same)
    task.delay_on_commit(report.pk)
    return report


def build_queued(*, report_id: int) -> StudiesReport:
    """Build a queued report; safe to repeat."""
    return carry_out(StudiesReport, report_id, _build, expected=(AnalysisError, OSError))


def _build(report: StudiesReport, progress: JobProgress) -> dict[str, Any]:
    # These load the statistics.
    from analysis.lifecycle.build_job import write_report
    from analysis.report.added_files import of_pages
    from analysis.report.render import content_security_policy
    from extras.report_readers.several.across import pooled_folders, write_across
    from extras.report_readers.several.pooling import plan_pools

    slugs = report.slugs
    plan = plan_pools(slugs if report.is_pooled else ())
    steps = len(slugs) + len(plan.groups)
    by = report.requested_by.get_username() if report.requested_by else ""

    def step(done: int, name: str, percent: int, sentence: str) -> None:
        progress((98 * done + percent) // steps, f"{name}: {sentence}")

    with folder_of(report).replacing() as draft:
        # First, because it refuses studies with the same item in other words.
        folders = pooled_folders(len(plan.groups))
        pooled = [
            write_report(*group, out=draft / folder, on_progress=partial(step, n, "Pooled"))
            for n, (group, folder) in enumerate(zip(plan.groups, folders, strict=True))
        ]
        results = [
            write_report(
                slug,
                out=draft / slug,
                by=by,
                on_progress=partial(step, len(pooled) + n, slug),
            )
            for n, slug in enumerate(slugs)
        ]
        progress(98, "Drawing the tables and figures of all studies.")
        write_across(
            [*results, *pooled],
            draft,
            added=of_pages(*Study.objects.filter(slug__in=slugs)),
            not_pooled=plan.not_pooled,
        )
    return {
        "content_security_policy": content_security_policy(),
        "expires_at": clock.now() + timedelta(days=settings.EXPORT_DAYS),
    }


def content_of(study: Study) -> StudyContent:
    obstacles = []
    if about(study, *StudiesReport.OPEN):
        obstacles.append("A report about several studies is being built. Wait until it is done.")
    done = about(study, StudiesReport.State.DONE)
    return StudyContent(obstacles=obstacles, folders=[folder_of(report) for report in done])


def delete_files(study: Study, items: Collection[int]) -> None:
    """Delete the reports about a study from which a person's items are removed."""
    for report in about(study, StudiesReport.State.DONE):
        _delete(report.pk)


def _delete(report_id: int, user: User | None = None) -> None:
    """Delete the files of a report; its row stays as a record."""
    StudiesReport.objects.filter(pk=report_id).update(
        state=StudiesReport.State.GONE,
        message="Deleted because data of a person in it was deleted. Build it again.",
    )
    transaction.on_commit(folder_of(StudiesReport.objects.get(pk=report_id)).delete)


def _copies(person: PersonIn) -> Iterator[HeldCopy]:
    for report in about(person.study, StudiesReport.State.DONE):
        if person.may_be_in(report.created_at):
            yield HeldCopy(
                f"several {report.public_id}",
                f"Report on {len(report.slugs)} studies",
                report.created_at,
                "Its numbers include their answers, and a table has a row on them.",
                "Delete the report",
                partial(_delete, report.pk),
            )


HELD = HeldBy("reports on several studies", copies=_copies)
