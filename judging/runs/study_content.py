"""What the judges' side of a study has, for deleting the whole study."""

from judging.models import JudgeRun, Judgment, PromptTemplate
from studies.models import Study
from studies.services.removal import Content


def content_of(study: Study) -> Content:
    runs = JudgeRun.objects.filter(study=study)
    judgments = Judgment.everything.filter(run__study=study).count()
    obstacles = []
    if runs.filter(state__in=JudgeRun.ACTIVE).exists():
        obstacles.append("A judge run is not finished. Stop it first.")
    wordings = PromptTemplate.objects.filter(study=study).count()
    counts = [("judge runs", runs.count()), ("judgments", judgments), ("wordings", wordings)]
    return Content(counts, obstacles)
