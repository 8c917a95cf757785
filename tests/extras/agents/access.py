"""Who may open the pages of proposals."""

from extras.agents.models import Proposal
from studies.models import Study

FOR_VIEWERS = {"proposals/"}
NAMED = {"proposals/ decide"}
NEEDS_DATA = r"agents:"


def things(study: Study) -> dict[str, Proposal]:
    return {
        "proposals/": Proposal.objects.create(
            study=study, kind="state", body={"state": "closed"}, token="t"
        )
    }
