"""What the judges' side of a study has, for deleting the whole study."""

from judging.models import JudgeRun, Judgment, PromptTemplate, last_lease_of_workers
from studies.models import Study
from studies.services.whole_studies.removal import StudyContent


def content_of(study: Study) -> StudyContent:
    runs = JudgeRun.objects.filter(study=study)
    judgments = Judgment.everything.filter(run__study=study).count()
    obstacles = []
    if runs.filter(state__in=JudgeRun.ACTIVE).exists():
        obstacles.append("A judge run is not finished. Stop it first.")
    elif _is_being_asked(study):
        obstacles.append("The last requests of a judge run are under way. Wait a few minutes.")
    wordings = PromptTemplate.objects.filter(study=study).count()
    counts = [("judge runs", runs.count()), ("judgments", judgments), ("wordings", wordings)]
    return StudyContent(counts, obstacles)


def _is_being_asked(study: Study) -> bool:
    """Whether a worker still waits for replies to a run that was stopped."""
    leased = Judgment.everything.filter(run__study=study, state=Judgment.State.LEASED)
    return leased.filter(leased_until__lte=last_lease_of_workers()).exists()
