"""What the judges' side of a study has, for deleting the whole study."""

from judging.models import Batch, JudgeRun, Judgment, PackJob, PromptTemplate
from studies.file_storage.stored import Stored
from studies.models import Study
from studies.services.whole_studies.removal import Content


def content_of(study: Study) -> Content:
    runs = JudgeRun.objects.filter(study=study)
    judgments = Judgment.everything.filter(run__study=study).count()
    obstacles = []
    if runs.filter(state__in=JudgeRun.ACTIVE).exists():
        obstacles.append("A judge run is not finished. Stop it first.")
    elif _is_being_asked(study):
        obstacles.append("The last requests of a judge run are under way. Wait a few minutes.")
    jobs = PackJob.objects.filter(run__study=study)
    if jobs.filter(state__in=PackJob.OPEN).exists():
        obstacles.append("A pack is being written or read. Wait until that has ended.")
    wordings = PromptTemplate.objects.filter(study=study).count()
    counts = [("judge runs", runs.count()), ("judgments", judgments), ("wordings", wordings)]
    folders = [Stored(f"packs/{job.public_id}") for job in jobs]
    return Content(counts, obstacles, folders)


def _is_being_asked(study: Study) -> bool:
    """Whether a worker still waits for replies to a run that was stopped."""
    leased = Judgment.everything.filter(run__study=study, state=Judgment.State.LEASED)
    batches = Batch.objects.filter(run__study=study)
    return leased.exclude(lease__in=batches.values("public_id")).exists()
