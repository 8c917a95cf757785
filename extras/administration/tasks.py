from extras.administration import backup_jobs
from extras.administration.models import BackupJob
from studies.jobs.retry import tidy_jobs
from studies.jobs.shared_tasks import shared_task


@shared_task
def run_backup_job(job_id: int) -> None:
    backup_jobs.carry_out_job(job_id)


@shared_task
def tidy() -> None:
    """Start the jobs of killed workers again."""
    tidy_jobs(BackupJob, run_backup_job)
