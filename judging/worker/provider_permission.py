"""Refuses to send items to a provider if their study does not allow it."""

from judging.errors import BadJudge
from judging.models import Judge
from studies.models import Study
from studies.services.provider_permission import forbids_providers

PAGE = "Items and providers"


def check_sharing(study: Study, judge: Judge) -> None:
    """Raise `BadJudge` if items of the study must not be sent where the judge is asked."""
    if judge.providers and forbids_providers(study):
        raise BadJudge(refusal(study, judge))


def refusal(study: Study, judge: Judge) -> str:
    """Why the judge is not asked, and what an owner can do."""
    licence = study.source.get("licence") or "no licence named"
    return (
        f"The items of “{study.slug}” must not leave for a provider ({licence}), and judge "
        f"“{judge.name}” is at {', '.join(judge.providers)}. Use a model on a server of your "
        f"own, or let an owner of the study confirm it with a reason under Settings, “{PAGE}”."
    )
