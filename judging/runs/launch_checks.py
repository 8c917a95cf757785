"""Launch checks of whether the judges of a study can be asked."""

from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from judging.backends.endpoints import leads_to_link_local
from judging.models import Judge
from studies.models import Item, Study
from studies.services.launch_checks import LaunchCheck
from studies.texts.texts_to_judges import passage_to_judge

_SECONDS = 3.0
_MOST_ITEMS = 5_000  # are read while the page waits; the import has read all


def judges_of(study: Study) -> list[LaunchCheck]:
    """One launch check for every judge with a run in the study: whether its server answers."""
    judges = Judge.objects.filter(runs__study=study).distinct().order_by("name")
    if not judges:
        return [LaunchCheck("No judge is set. They can judge at any time, also afterwards.", False)]
    away = [name for judge in judges for name in _away(judge)]
    if not away:
        return [
            LaunchCheck(f"The judges can be reached: {', '.join(j.name for j in judges)}.", False)
        ]
    words = f"These judges do not answer: {', '.join(away)}. Start them, or let them judge later."
    return [LaunchCheck(words, True, fix=reverse("judging:list", args=[study.slug]))]


def texts_to_judges(study: Study) -> list[LaunchCheck]:
    """Advice where items hold a text that speaks to a judge; nothing in a study without judges."""
    if not study.judge_runs.exists():
        return []
    rows = Item.objects.filter(study=study).order_by("key")[:_MOST_ITEMS]
    columns = rows.values_list("key", "question", "context", "r1__text", "r2__text")
    found = {
        key: passage
        for key, *texts in columns.iterator(chunk_size=1_000)
        if (passage := next(filter(None, map(passage_to_judge, filter(None, texts))), ""))
    }
    if not found:
        return [LaunchCheck("No item has a text that speaks to a judge.", False)]
    key, passage = next(iter(found.items()))
    items = "1 item has" if len(found) == 1 else f"{len(found):,} items have"
    words = (
        f"{items} a text that may speak to a judge, first “{passage}” in {key}. A model may follow "
        "it. Check these items, or measure its effect with the bias probe “injection”."
    )
    return [LaunchCheck(words, True, fix=reverse("studies:item", args=[study.slug, key]))]


def _away(judge: Judge) -> list[str]:
    """The judge's name if its server does not answer; with the addresses if it has several."""
    if not judge.capabilities.needs_endpoint:
        return []
    away = [address for address in judge.base_urls if not _answers(address)]
    if len(judge.base_urls) == 1:
        return [judge.name] if away else []
    return [f"{judge.name} at {address}" for address in away]


def _answers(address: str) -> bool:
    """Whether a server responds at all; sent without a key, so a refusal is enough."""
    host = urlsplit(address).hostname
    if not host:
        return True
    if leads_to_link_local(host) and not settings.JUDGE_LINK_LOCAL:
        return False
    import httpx2

    from judging.backends.connections import certificates

    try:
        httpx2.get(f"{address.rstrip('/')}/models", timeout=_SECONDS, verify=certificates())
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, ImportError, OSError):
        return False  # also if the environment names a proxy that cannot be used
    return True
