"""Who may open the pages of share links: owners of the study, and anyone with a key."""

from analysis.models import Report
from extras.share_links.models import ShareLink
from studies.models import Study

FOR_OWNERS = {
    "reports/<public_id>/share/",
    "reports/<public_id>/share/<link_id>/end/",
    "reports/<public_id>/share/<link_id>/files/",
    "reports/<public_id>/share/<link_id>/names/",
}
# It wants a link with files.
NOT_HERE = {"reports/<public_id>/share/<link_id>/files/"}
NEEDS_DATA = "share_links:"
OPEN = {"shared/"}


def known(study: Study) -> dict[str, str]:
    link = ShareLink.objects.create(
        report=Report.objects.get(study=study), key_hash="k", expires_at="2099-01-01T00:00Z"
    )
    return {"link_id": link.public_id}
