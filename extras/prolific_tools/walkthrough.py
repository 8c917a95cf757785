"""A researcher's own walk through a draft, as a test participant of Prolific.

Prolific publishes a copy of the draft to the workspace's test participants. They come by links of
that copy, so its id is kept in the study's log. Their answers count nowhere.
"""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from annotation.models import ProlificStudy
from annotation.prolific.additions import ProlificAction, ProlificPart
from annotation.prolific.api.claims import claimed
from annotation.prolific.api.client import connect
from annotation.prolific.api.transport import NotAllowed, NotFound, ProlificRejected, shaped
from annotation.prolific.api.types import UNPUBLISHED
from annotation.prolific.pages.views import attempt, editor_page, to_home, user_of
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
            reply = client.ask("POST", f"studies/{draft.prolific_id}/test-study")
            test, address = shaped(lambda: (str(reply["study_id"]), str(reply["study_url"])))
        except (NotFound, ProlificRejected) as error:
            detail = f" Prolific says: {error.detail}" if error.detail else ""
            raise NotAllowed(f"{_NEEDS}{detail}") from error
        record(study, TEST_STUDY, user=user, test=test, address=address)
    return address


@require_http_methods(["POST"])
@editor_page
def walk(request: HttpRequest, study: Study) -> HttpResponse:
    """Create a test study, through which a researcher walks as a participant."""
    email = request.POST.get("email", "").strip()
    attempt(
        request,
        lambda: start_walk(study_id=study.pk, email=email, user=user_of(request)),
        lambda _: "Test study created. Its link is below.",
    )
    return to_home(study)


def _walk_lines(study: Study, options: Mapping[str, Any]) -> Iterator[str]:
    address = start_walk(study_id=study.pk, email=options["email"])
    yield f"Open it on Prolific as the test participant: {address}"


def _walk_options(parser: ArgumentParser) -> None:
    parser.add_argument("--email", default="", help="of a new test participant")


WALK = ProlificAction(
    "walk",
    "create a test study, to walk through the draft as a participant",
    _walk_lines,
    _walk_options,
)


def _latest(study: Study) -> dict[str, Any]:
    """The address of the latest test study, if it was stored."""
    row = study.log.filter(event=TEST_STUDY).order_by("pk").last()
    return {"test_study": row.detail.get("address", "") if row else ""}


PANEL = ProlificPart("walk", "home", "annotation/prolific/walk.html", _latest)
