"""Tasks of this app for the worker.

Pages queue these tasks, so modules that compute are imported when a task runs.
"""

from analysis.exports import study_export
from analysis.lifecycle import storage
from analysis.lifecycle.storage import report_folder
from analysis.models import Comparison, Export, Report
from studies.file_storage.storage import remove_drafts
from studies.jobs.retry import tidy_jobs
from studies.jobs.shared_tasks import shared_task


@shared_task
def build_report(report_id: int) -> None:
    """Build a queued report; safe to run twice."""
    from analysis.lifecycle import build_job

    build_job.build_queued(report_id=report_id)


@shared_task
def write_export(export_id: int) -> None:
    """Write a queued export; safe to run twice."""
    study_export.write_queued(export_id=export_id)


@shared_task
def compare_items(comparison_id: int) -> None:
    """Compare the items of a queued comparison; safe to run twice."""
    from analysis.disagreements import comparisons

    comparisons.compare_queued(comparison_id=comparison_id)


@shared_task
def tidy_report_jobs() -> None:
    """Restart jobs that a killed worker left behind; delete expired exports and old drafts."""
    from analysis.disagreements import comparisons

    comparisons.delete_unused()
    tidy_jobs(Comparison, compare_items)
    tidy_jobs(Report, build_report, folder_of=report_folder)
    tidy_jobs(Export, write_export, folder_of=storage.export_folder)
    remove_drafts("reports", "exports")
