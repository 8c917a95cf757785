"""Who may open the pages: owners and anyone with a key; viewers; the person who asked for one."""

from analysis.models import Report
from extras.report_readers.models import ShareLink
from studies.models import Study

FOR_OWNERS = {
    "reports/<public_id>/share/",
    "reports/<public_id>/share/ end",
    "reports/<public_id>/share/ files",
    "reports/<public_id>/share/ names",
}
# They want a link with files, and a finished report.
NOT_HERE = {"reports/<public_id>/share/ files", "reports/<public_id>/verify/"}
FOR_VIEWERS = {"reports/<public_id>/verify/?progress", "reports/compare/"}
OTHERS = {
    "several-studies/",
    "several-studies/<report_id>/",
    "several-studies/<report_id>/all.zip",
    "several-studies/<report_id>/files/<name>",
    "several-studies/<report_id>/?progress",
}
OPEN = {"shared/"}
NEEDS_DATA = "share_links:|verification:"
LEFT_OUT = {"is about no study of a team": "several_studies:"}


def known(study: Study) -> dict[str, str]:
    link = ShareLink.objects.create(
        report=Report.objects.get(study=study), key_hash="k", expires_at="2099-01-01T00:00Z"
    )
    return {"link_id": link.public_id}
