"""What `tests.config.test_access` and `tests.test_pairs_at_once` have to know of the pages."""

from extras.personas.models import DraftingJob, ProfileDraft
from studies.models import Study

# Editors who may create studies.
MAY_CREATE = {"changed-personas/", "other-personas/"}
NAMED = {"judges/profiles/ decide"}
LEFT_OUT = {
    "asks a model at once": "personas:profiles",
    "needs data that this study does not have": "personas:(changed|other)-personas",
}


def known(study: Study) -> dict[str, str]:
    """What the parameters of addresses are for things that the study has."""
    job = DraftingJob.objects.create(study=study, state=DraftingJob.State.DONE)
    draft = ProfileDraft.objects.create(
        job=job, persona=study.personas.earliest("pk"), state=ProfileDraft.State.WRITTEN
    )
    return {"draft_id": draft.public_id}
