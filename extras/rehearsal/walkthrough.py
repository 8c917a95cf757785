"""A researcher's own walk through a draft, as a test participant of Prolific.

Prolific publishes a copy of the draft to the workspace's test participants. They come by links of
that copy, so its id is kept in the study's log. Their answers count nowhere.
"""

from django.contrib.auth.models import User

from annotation.models import ProlificStudy
from annotation.prolific.api.claims import claimed
from annotation.prolific.api.client import connect
from annotation.prolific.api.transport import NotAllowed, NotFound, ProlificRejected, shaped
from annotation.prolific.api.types import UNPUBLISHED
from annotation.prolific.sync.entry import TEST_STUDY
from studies.models import Study
from studies.services.studies import record

_NEEDS = (
    "A test study needs a workspace that has this feature (ask Prolific's support) and a test "
    "participant: enter an e-mail address that has no account on Prolific."
)


def start_walk(*, study_id: int, email: str = "", user: User | None = None) -> str:
    """Create a test study from the first draft and return its address on Prolific.

    With `email`, a test participant is created first; once for each address. Raises `NotAllowed`
    without a draft or if Prolific refuses, and any other `ProlificError`.
    """
    study = Study.objects.get(pk=study_id)
    if study.state != Study.State.OPEN:
        raise NotAllowed("The study is not open. Open it, then walk through it.")
    draft = ProlificStudy.objects.filter(study=study, status=UNPUBLISHED).first()
    if draft is None or draft.prolific_id is None:
        raise NotAllowed("There is no draft on Prolific. Create it first.")
    client = connect(study_id)
    with claimed(study_id, client):
        try:
            if email:
                client.ask("POST", "researchers/participants/", json={"email": email})
            made = client.ask("POST", f"studies/{draft.prolific_id}/test-study")
            test, address = shaped(lambda: (str(made["study_id"]), str(made["study_url"])))
        except (NotFound, ProlificRejected) as error:
            detail = f" Prolific says: {error.detail}" if error.detail else ""
            raise NotAllowed(f"{_NEEDS}{detail}") from error
        record(study, TEST_STUDY, user=user, test=test)
    return address
