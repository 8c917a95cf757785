"""The judges' side of a study: launch checks, deletion, and judgments about a person."""

from collections.abc import Collection, Iterable, Sequence
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Count, F, Q, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce
from django.urls import reverse

from judging.backends.backend import leads_to_link_local
from judging.models import Attempt, Judge, JudgeRun, Judgment, PromptTemplate, last_lease_of_workers
from judging.worker.budgets import AMOUNTS, REMOVED, add_removed
from judging.worker.run_states import closing_words
from studies.models import Item, Study
from studies.services.studies import LaunchCheck
from studies.services.whole_studies import StudyContent, delete_with_all_that_refers
from studies.texts.texts_to_judges import passage_to_judge

_SECONDS = 3.0
_MOST_ITEMS = 5_000  # are read while the page waits; the import has read all


def judges_of(study: Study) -> list[LaunchCheck]:
    """One launch check for all judges with a run in the study: whether their servers answer."""
    judges = Judge.objects.filter(runs__study=study).distinct().order_by("name")
    if not judges:
        return [
            LaunchCheck(
                "No judges yet. You can add them at any time, also after people have answered.",
                False,
            )
        ]
    away = [name for judge in judges for name in _away(judge)]
    if not away:
        return [LaunchCheck(f"All judges respond: {', '.join(j.name for j in judges)}.", False)]
    words = (
        f"These judges do not respond: {', '.join(away)}. Start their servers, or run them later."
    )
    return [LaunchCheck(words, True, fix=reverse("judging:list", args=[study.slug]))]


def texts_to_judges(study: Study) -> list[LaunchCheck]:
    """Advice if item texts address a judge; nothing in a study without judges."""
    if not study.judge_runs.exists():
        return []
    rows = Item.objects.filter(study=study).order_by("key")[:_MOST_ITEMS]
    columns = rows.values_list("key", "question", "context", KT("r1__text"), KT("r2__text"))
    passages = {
        key: passage
        for key, *texts in columns.iterator(chunk_size=1_000)
        if (passage := next(filter(None, map(passage_to_judge, filter(None, texts))), ""))
    }
    if not passages:
        return [LaunchCheck("No item has a text that addresses a judge.", False)]
    key, passage = next(iter(passages.items()))
    items = "1 item has" if len(passages) == 1 else f"{len(passages):,} items have"
    words = (
        f"{items} a text that may address a judge, first “{passage}” in {key}. A model may follow "
        "it. Check these items, or measure its effect with the bias probe “injection”."
    )
    return [LaunchCheck(words, True, fix=reverse("studies:item", args=[study.slug, key]))]


def asked_items(study: Study) -> Iterable[str]:
    """The keys of the items that judges were asked about here; imported judgments ask nobody."""
    judgments = Judgment.everything.filter(run__study=study, run__is_imported=False).order_by()
    return judgments.values_list("item__key", flat=True).distinct()


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


def ledger_use(run_id: int) -> tuple[int, int, int]:
    """Cost of a run's ended requests in nano-dollars and tokens, and the number of failures.

    Includes requests of removed judgments.
    """
    ended = Attempt.objects.filter(judgment__run=run_id).exclude(outcome=Attempt.Outcome.SENT)
    sums = ended.aggregate(
        nano=Sum("cost_nano", default=0),
        tokens=Sum(
            Coalesce(F("prompt_tokens"), 0) + Coalesce(F("completion_tokens"), 0), default=0
        ),
        retries=Count("pk", filter=~Q(outcome=Attempt.Outcome.REPLIED)),
    )
    removed = JudgeRun.objects.values_list("parameters", flat=True).get(pk=run_id).get(REMOVED, {})
    nano, tokens, retries = (sums[name] + removed.get(name, 0) for name in AMOUNTS)
    return nano, tokens, retries


def remove_judgments(study: Study, items: Collection[int]) -> None:
    """Delete every judgment about items.

    A judgment elsewhere that reused an answer, about an item with the same texts and another
    person, keeps it and gets its requests. A request that is in flight meanwhile is counted when it
    ends (`judging/worker/ledger.py`).
    """
    judgments = Judgment.everything.filter(item__in=items)
    taking = Judgment.everything.filter(reused_from__item__in=items).exclude(item__in=items)
    of_runs = {run for rows in (judgments, taking) for run in rows.values_list("run", flat=True)}
    # Workers that store requests of these judgments wait, and are then refused. Like them, this
    # locks a run before its judgments.
    runs = list(
        JudgeRun.objects.select_for_update(no_key=True).filter(pk__in=of_runs).order_by("pk")
    )
    list(judgments.select_for_update(no_key=False).order_by("pk").values_list("pk"))
    takers = list(taking.order_by("pk"))
    before = {run.pk: ledger_use(run.pk) for run in runs}
    _pass_on(takers)
    judgments.update(reused_from=None, asked_with=None)
    delete_with_all_that_refers(Judgment, item__in=list(items))
    for run in runs:
        _keep_costs(run, before[run.pk])
        if run.state == JudgeRun.State.DONE:
            run.sentence = closing_words(run.pk)
            run.save(update_fields=["sentence"])


def _pass_on(takers: Sequence[Judgment]) -> None:
    """Give the requests of each removed answer to the first judgment that took it over."""
    heirs: dict[int | None, Judgment] = {}
    for taker in takers:
        source, heir = taker.reused_from_id, heirs.get(taker.reused_from_id)
        if heir is None:
            heirs[source] = taker
            Attempt.objects.filter(judgment=source).update(judgment=taker)
        taker.reused_from = heir
        taker.save(update_fields=["reused_from"])


def _keep_costs(run: JudgeRun, before: tuple[int, int, int]) -> None:
    after = ledger_use(run.pk)
    if before == after:
        return
    lost = {name: old - new for name, old, new in zip(AMOUNTS, before, after, strict=True)}
    add_removed(run, lost)


def content_of(study: Study) -> StudyContent:
    runs = JudgeRun.objects.filter(study=study)
    judgments = Judgment.everything.filter(run__study=study).count()
    obstacles = []
    if runs.filter(state__in=JudgeRun.ACTIVE).exists():
        obstacles.append("A judge run is not finished. Stop it first.")
    elif _is_being_asked(study):
        obstacles.append(
            "The last requests of a judge run are still in progress. Wait a few minutes."
        )
    wordings = PromptTemplate.objects.filter(study=study).count()
    counts = [("judge runs", runs.count()), ("judgments", judgments), ("wordings", wordings)]
    return StudyContent(counts, obstacles)


def _is_being_asked(study: Study) -> bool:
    leased = Judgment.everything.filter(run__study=study, state=Judgment.State.LEASED)
    return leased.filter(leased_until__lte=last_lease_of_workers()).exists()
