"""A researcher's own walk through a draft, as a test participant of Prolific.

Prolific publishes a copy of the draft to the workspace's test participants. They come by links of
that copy, so its id is kept in the study's log. Their answers count nowhere.
"""

from django.contrib.auth.models import User

from annotation.models import ProlificStudy
from annotation.prolific.api.claims import claimed
from annotation.prolific.api.client import connect
from annotation.prolific.api.transport import NotAllowed, NotFound, ProlificRejected
from annotation.prolific.api.types import UNPUBLISHED
from studies.models import Study
from studies.services.studies import record

# The log event; its detail `test` is the id. Logs of existing studies contain this text.
_EVENT = "test study on Prolific"
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
                client.add_test_participant(email)
            test, address = client.create_test_study(draft.prolific_id)
        except (NotFound, ProlificRejected) as error:
            detail = f" Prolific says: {error.detail}" if error.detail else ""
            raise NotAllowed(f"{_NEEDS}{detail}") from error
        record(study, _EVENT, user=user, test=test)
    return address


def is_walk(study: Study, prolific_study: str) -> bool:
    """Whether a study on Prolific is a test study of this study."""
    return study.log.filter(event=_EVENT, detail__test=prolific_study).exists()
