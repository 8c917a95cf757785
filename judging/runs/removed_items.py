"""Takes judgments about a person out of the runs of a study, and keeps what they cost."""

from collections.abc import Collection, Sequence

from django.db.models import Count, F, Q, Sum
from django.db.models.functions import Coalesce

from judging.models import Attempt, JudgeRun, Judgment
from judging.worker.chunks import closing_words
from judging.worker.records.removed_requests import AMOUNTS, REMOVED, add_removed
from studies.models import Study
from studies.services.whole_studies.removal import delete_with_all_that_refers


def ledger_use(run_id: int) -> tuple[int, int, int]:
    """What the ended requests of a run cost, in nano-dollars and tokens, and how many failed.

    With those of judgments that were removed.
    """
    ended = Attempt.objects.filter(judgment__run=run_id).exclude(outcome=Attempt.Outcome.SENT)
    found = ended.aggregate(
        nano=Sum("cost_nano", default=0),
        tokens=Sum(
            Coalesce(F("prompt_tokens"), 0) + Coalesce(F("completion_tokens"), 0), default=0
        ),
        retries=Count("pk", filter=~Q(outcome=Attempt.Outcome.REPLIED)),
    )
    removed = JudgeRun.objects.values_list("parameters", flat=True).get(pk=run_id).get(REMOVED, {})
    nano, tokens, retries = (found[name] + removed.get(name, 0) for name in AMOUNTS)
    return nano, tokens, retries


def remove_judgments(study: Study, items: Collection[int]) -> None:
    """Delete every judgment about items.

    A judgment elsewhere that took an answer over, of an item with the same texts about another
    person, keeps it, and gets the requests that brought it. A request that is in flight meanwhile
    is counted when it ends (`judging/worker/records/ledger.py`).
    """
    judgments = Judgment.everything.filter(item__in=items)
    taking = Judgment.everything.filter(reused_from__item__in=items).exclude(item__in=items)
    of_runs = {run for rows in (judgments, taking) for run in rows.values_list("run", flat=True)}
    # Workers that store requests of these judgments wait, and are then refused. They lock a run
    # before its judgments, and so does this.
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
