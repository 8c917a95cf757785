"""Launch checks of whether the judges of a study can be asked."""

from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from judging.backends.endpoints import leads_to_link_local
from judging.models import Judge
from studies.models import Study
from studies.services.launch_checks import LaunchCheck

_SECONDS = 3.0


def judges_of(study: Study) -> list[LaunchCheck]:
    """One launch check for every judge with a run in the study: whether its server answers."""
    judges = Judge.objects.filter(runs__study=study).distinct().order_by("name")
    if not judges:
        return [LaunchCheck("No judge is set. They can judge at any time, also afterwards.", False)]
    away = [judge.name for judge in judges if not _answers(judge)]
    if not away:
        return [
            LaunchCheck(f"The judges can be reached: {', '.join(j.name for j in judges)}.", False)
        ]
    words = f"These judges do not answer: {', '.join(away)}. Start them, or let them judge later."
    return [LaunchCheck(words, True, fix=reverse("judging:list", args=[study.slug]))]


def _answers(judge: Judge) -> bool:
    """Whether the judge's server responds at all; sent without a key, so a refusal is enough."""
    host = urlsplit(judge.base_url).hostname
    if not judge.capabilities.needs_endpoint or not host:
        return True
    if leads_to_link_local(host) and not settings.JUDGE_LINK_LOCAL:
        return False
    import httpx2

    try:
        httpx2.get(f"{judge.base_url.rstrip('/')}/models", timeout=_SECONDS)
    except httpx2.HTTPError:
        return False
    return True
