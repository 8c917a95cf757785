"""Checks of runs, judgments, the ledger of requests, and keys of judges."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, F, Max, OuterRef, QuerySet, Sum

from annotation.models import ProlificAccount
from annotation.prolific.api.credentials import unseal
from extras.administration.doctor.checks import InvariantCheck, InvariantFault, portions
from judging import deliveries
from judging.models import (
    NANO,
    Attempt,
    Campaign,
    Judge,
    JudgeRun,
    Judgment,
)
from judging.prompts.asking import protocol_sha256
from judging.runs.study_content import ledger_use
from judging.worker.endpoints import is_readable
from judging.worker.run_states import NOT_ASKED, sharing
from studies.statements import clock

_PATIENCE = timedelta(hours=1)  # a worker's lease is half a minute
_ENDED = (Judgment.State.DONE, Judgment.State.UNPARSEABLE, Judgment.State.REFUSED)


def wrong_run_totals() -> Iterator[InvariantFault]:
    runs = JudgeRun.objects.order_by("pk").values_list(
        "pk", "public_id", "study__slug", "spent_nano", "tokens", "retries"
    )
    for pk, name, study, *counted in list(runs):
        if tuple(counted) != (use := ledger_use(pk)):
            yield InvariantFault(
                f"Run {name}: it counts {_money(counted[0])}, {counted[1]:,} tokens and "
                f"{counted[2]:,} failed requests; its ledger has {_money(use[0])}, {use[1]:,} and "
                f"{use[2]:,}.",
                study,
                pk,
            )


def _money(nano: int) -> str:
    return f"${nano / NANO:.6f}"


@transaction.atomic
def repair_run_totals(fault: InvariantFault) -> str:
    # Workers lock the run before they store an answer, so the ledger does not change meanwhile.
    run = JudgeRun.objects.select_for_update(no_key=True).get(pk=fault.key)
    nano, tokens, retries = ledger_use(run.pk)
    if (nano, tokens, retries) == (run.spent_nano, run.tokens, run.retries):
        return ""
    JudgeRun.objects.filter(pk=run.pk).update(spent_nano=nano, tokens=tokens, retries=retries)
    return f"Run {run.public_id}: counts {_money(nano)}, {tokens:,} tokens, {retries:,} failed."


def exceeded_budgets() -> Iterator[InvariantFault]:
    """Budgets that their requests exceed; requests are refused before that happens."""
    for run in JudgeRun.objects.exclude(budget=None, token_budget=None).select_related("study"):
        yield from _exceeded(
            f"Run {run.public_id}", run.study.slug, run, run.spent_nano, run.tokens
        )
    limited = Campaign.objects.exclude(budget=None, token_budget=None).select_related("study")
    sums = {"nano": Sum("runs__spent_nano", default=0), "used": Sum("runs__tokens", default=0)}
    rows: QuerySet[Any] = limited.annotate(**sums)
    for one in rows:
        yield from _exceeded(f"Campaign “{one.name}”", one.study.slug, one, one.nano, one.used)


def _exceeded(
    name: str, study: str, limit: JudgeRun | Campaign, nano: int, tokens: int
) -> Iterator[InvariantFault]:
    if limit.budget is not None and nano > limit.budget * NANO:
        yield InvariantFault(f"{name} cost {_money(nano)} of a budget of ${limit.budget}.", study)
    if limit.token_budget is not None and tokens > limit.token_budget:
        yield InvariantFault(f"{name} used {tokens:,} of {limit.token_budget:,} tokens.", study)


def broken_ledger() -> Iterator[InvariantFault]:
    """Judgments whose requests are not numbered 1, 2, …, or are in flight without a worker."""
    for low, high in portions(Judgment.everything, Judgment):
        of = Attempt.objects.filter(judgment__pk__range=(low, high)).order_by()
        counts = of.values_list("judgment", "judgment__run__study__slug").annotate(
            n=Count("pk"), last=Max("number")
        )
        for judgment, study, n, last in list(counts.exclude(n=F("last"))):
            yield InvariantFault(
                f"Judgment {judgment}: its ledger has {n} requests, the last is number {last}.",
                study,
            )
        in_flight = of.filter(outcome=Attempt.Outcome.SENT).exclude(
            judgment__state=Judgment.State.LEASED
        )
        for judgment, study, number in list(
            in_flight.values_list("judgment", "judgment__run__study__slug", "number")
        ):
            yield InvariantFault(
                f"Judgment {judgment}: request {number} is in flight, but no worker has it.", study
            )


def judgments_without_request() -> Iterator[InvariantFault]:
    """Answers without a request in the ledger."""
    for low, high in portions(Judgment.everything, Judgment):
        asked = Judgment.everything.filter(
            pk__range=(low, high),
            state__in=_ENDED,
            run__is_imported=False,
            reused_from=None,
            asked_with=None,
        )
        replied = Attempt.objects.filter(judgment=OuterRef("pk"))
        rows = asked.exclude(Exists(replied)).values_list(
            "pk", "run__public_id", "run__study__slug"
        )
        for pk, run, study in list(rows.order_by("pk")):
            yield InvariantFault(
                f"Judgment {pk} of run {run} has an answer, but no request.", study
            )


def runs_against_judgments() -> Iterator[InvariantFault]:
    """Runs whose state contradicts their judgments, or whose items have gaps."""
    runs = JudgeRun.objects.order_by("pk").values_list(
        "pk", "public_id", "study__slug", "state", "orders", "samples", "setting", "is_imported"
    )
    now = clock.now()
    for pk, name, study, state, orders, samples, setting, imported in list(runs):
        judgments = Judgment.everything.filter(run=pk)
        if state == JudgeRun.State.DONE:
            open_ones = judgments.filter(state__in=Judgment.OPEN).exclude(NOT_ASKED).count()
            if open_ones:
                yield InvariantFault(
                    f"Run {name} is done, but {open_ones:,} judgments are open.", study
                )
        lost = judgments.filter(state=Judgment.State.LEASED, leased_until__lt=now - _PATIENCE)
        for delivery in deliveries.MORE:
            lost = lost.exclude(lease__in=delivery.leases())
        if lost_ones := lost.count():
            yield InvariantFault(
                f"Run {name}: {lost_ones:,} judgments are with a worker that has been silent for "
                "long.",
                study,
            )
        if not imported and setting not in sharing():
            yield from _items_with_gaps(judgments, name, study, samples, orders)


def _items_with_gaps(
    judgments: QuerySet[Judgment], name: str, study: str, samples: int, orders: str
) -> Iterator[InvariantFault]:
    """Items that were asked less often than the run's samples and orders require."""
    per_item = judgments.filter(anchor="").order_by().values("item").annotate(n=Count("pk"))
    for is_fixed in (True, False):
        sides = 2 if orders == JudgeRun.Orders.BOTH and not is_fixed else 1
        of = (
            per_item.filter(item__fixed_first="")
            if not is_fixed
            else per_item.exclude(item__fixed_first="")
        )
        if gaps := of.filter(n__lt=samples * sides).count():
            yield InvariantFault(
                f"Run {name}: {gaps:,} of its items have fewer than {samples * sides} judgments.",
                study,
            )


def mixed_runs() -> Iterator[InvariantFault]:
    """Runs with answers of another protocol, copied from other runs."""
    taken = Judgment.everything.exclude(reused_from=None).order_by("run", "reused_from__run")
    pairs = taken.values("run", "reused_from__run").annotate(n=Count("pk"))
    copies = [(row["run"], row["reused_from__run"], row["n"]) for row in pairs]
    runs = JudgeRun.objects.select_related("judge", "study").in_bulk(
        {pk for run, source, _ in copies for pk in (run, source)}
    )
    for pk, source, n in copies:
        run = runs[pk]
        if protocol_sha256(run) != protocol_sha256(runs[source]):
            yield InvariantFault(
                f"Run {run.public_id}: {n:,} of its answers were copied from run "
                f"{runs[source].public_id}, which asked or read differently.",
                run.study.slug,
            )


def unreadable_keys() -> Iterator[InvariantFault]:
    """Encrypted keys and secrets that cannot be decrypted with this SECRET_KEY."""
    for field, what in (("sealed_key", "key"), ("sealed_headers", "secret header")):
        for name, sealed in Judge.objects.exclude(**{field: ""}).values_list("name", field):
            if not is_readable(sealed):
                yield InvariantFault(f"The stored {what} of judge “{name}” cannot be decrypted.")
            elif not settings.JUDGE_STORED_KEYS:
                yield InvariantFault(
                    f"Judge “{name}” has a stored {what}, and JUDGE_STORED_KEYS is off."
                )
    for account in ProlificAccount.objects.all():
        stored = {"token": account.sealed_token, "webhook secret": account.sealed_secret}
        for what, sealed in stored.items():
            if sealed and unseal(sealed) is None:
                yield InvariantFault(
                    f"The {what} of workspace “{account}” on Prolific cannot be decrypted."
                )


CHECKS = [
    InvariantCheck(
        "run-totals",
        "Each run counts what the requests in its ledger cost",
        wrong_run_totals,
        "doctor --repair adds the ledger up again.",
        repair_run_totals,
    ),
    InvariantCheck(
        "budgets",
        "No run or campaign exceeds its budget",
        exceeded_budgets,
        "Compare with the provider's bill, and raise the budget if the amount is right.",
    ),
    InvariantCheck(
        "ledger",
        "The requests of each judgment are numbered without gaps, and none is in flight without a "
        "worker",
        broken_ledger,
        "The ledger is original data: compare with a backup.",
    ),
    InvariantCheck(
        "requests",
        "Each answer of a judge has a request in the ledger",
        judgments_without_request,
        "The ledger is original data: compare with a backup.",
    ),
    InvariantCheck(
        "runs",
        "The state of each run agrees with its judgments",
        runs_against_judgments,
        "Call judge with the same parameters again: it asks what is missing. If judgments wait, "
        "check that a worker runs.",
    ),
    InvariantCheck(
        "mixed-runs",
        "No run has answers that another one asked or read differently",
        mixed_runs,
        "Start a separate run with judge --fresh and another --seed, and do not use this one.",
    ),
    InvariantCheck(
        "keys",
        "Stored keys of judges and tokens of Prolific can be decrypted",
        unreadable_keys,
        "Restore SECRET_KEY and JUDGE_STORED_KEYS, or enter the key again on the judge's page, and "
        "the token under “Prolific accounts”.",
    ),
]
