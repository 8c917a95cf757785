"""Reads the parameters with which answers of runs were requested, and the reported models."""

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Min

from judging.backends.parameters import differences
from judging.engine.conditions import Reported, Sent, sentences
from judging.models import Judge, JudgeRun, Judgment, SentParameters
from judging.worker.endpoints import kind_of, settings_of


@dataclass(frozen=True)
class Conditions:
    """The conditions of the answers of a run, the most frequent first."""

    sent: tuple[Sent, ...] = ()
    reported: tuple[Reported, ...] = ()

    @property
    def sentences(self) -> list[str]:
        return sentences(self.sent, self.reported)


def conditions_of(runs: Collection[JudgeRun]) -> dict[int, Conditions]:
    """The conditions of runs by id; two queries. Runs without answers have none of their own."""
    rows = (
        Judgment.objects.filter(run__in=runs)
        .exclude(model_snapshot="", sent_with=None)
        .order_by()
        .values_list("run", "sent_with", "model_snapshot", "fingerprint")
        .annotate(n=Count("pk"), first=Min("answered_at"), last=Max("answered_at"))
    )
    sent: dict[int, Counter[int]] = {run.pk: Counter() for run in runs}
    reported: dict[int, Counter[tuple[str, str]]] = {run.pk: Counter() for run in runs}
    times: dict[tuple[int, str, str], set[datetime]] = defaultdict(set)
    for run_id, sent_with, model, fingerprint, n, first, last in rows:
        if sent_with is not None:
            sent[run_id][sent_with] += n
        if model or fingerprint:
            reported[run_id][model, fingerprint] += n
            times[run_id, model, fingerprint] |= {first, last} - {None}
    known = SentParameters.objects.in_bulk({pk for counts in sent.values() for pk in counts})
    return {
        run.pk: Conditions(
            _sent(run.judge, {known[pk].sha256: n for pk, n in sent[run.pk].items()}, known),
            tuple(
                Reported(
                    n,
                    model,
                    fingerprint,
                    first=min(times[run.pk, model, fingerprint], default=None),
                    last=max(times[run.pk, model, fingerprint], default=None),
                )
                for (model, fingerprint), n in _ranked(reported[run.pk])
            ),
        )
        for run in runs
    }


def _sent(
    judge: Judge, counts: dict[str, int], known: dict[int, SentParameters]
) -> tuple[Sent, ...]:
    parameters: dict[str, dict[str, Any]] = {row.sha256: row.parameters for row in known.values()}
    return tuple(
        Sent(n, parameters[sha256], tuple(_differences(judge, parameters[sha256])))
        for sha256, n in _ranked(Counter(counts))
    )


def _ranked(counts: "Counter[Any]") -> list[tuple[Any, int]]:
    """The most frequent first, in the same order for the same counts on every database."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _differences(judge: Judge, parameters: dict[str, Any]) -> list[str]:
    intended = kind_of(judge).intended_parameters(settings_of(judge))
    return differences(intended.values, parameters)
