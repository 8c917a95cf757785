"""Who may open the pages of packs."""

from extras.packs.models import PackJob
from judging.models import JudgeRun
from studies.models import Study

FOR_VIEWERS: set[str] = set()
NOT_HERE = {"judges/<run_id>/packs/<job_id>/file/"}  # no pack was written
NEEDS_DATA = r"packs:"  # a run that is not under way, and files


def things(study: Study) -> dict[str, PackJob]:
    run = JudgeRun.objects.filter(study=study).earliest("pk")
    return {"judges/<run_id>/packs/": PackJob.objects.create(run=run, kind="read")}
