"""Whether all answers of a run had the same conditions: parameters sent, and model."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Min

from judging.backends.parameters import differences
from judging.models import Judge, JudgeRun, Judgment, SentParameters
from judging.worker.endpoints import judge_of, kind_of, settings_of

_MOST = 4  # named in a sentence
# Parameters of runs that ask the same in two forms: the id of the other one.
CONTINUED_BY, GOES_ON_FROM = "continued_by", "goes_on_from"
FILMS = "films"  # the parameter that says what the judge gets of a film


@dataclass(frozen=True)
class Sent:
    """Answers requested with the same parameters, and their differences from the judge's."""

    judgments: int
    parameters: Mapping[str, Any]
    differs: tuple[str, ...]


@dataclass(frozen=True)
class Reported:
    """Answers of one model, by reported name, and when they arrived."""

    judgments: int
    model: str
    fingerprint: str
    first: datetime | None = None
    last: datetime | None = None

    @property
    def minutes(self) -> tuple[str | None, str | None]:
        """When the first and the last of them arrived."""
        first, last = (
            None if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"
            for moment in (self.first, self.last)
        )
        return first, last


def sentences(sent: Sequence[Sent], reported: Sequence[Reported]) -> list[str]:
    """Sentences for readers; empty if everything was sent as set and one model answered."""
    return [*_about_requests(sent), *_about_models(reported)]


def _about_requests(sent: Sequence[Sent]) -> Iterable[str]:
    if not any(conditions.differs for conditions in sent):
        return
    if len(sent) == 1:
        (only,) = sent
        yield (
            f"The server refused some settings of the judge: all {_answers(only.judgments)} were "
            f"asked for {', '.join(only.differs)}."
        )
        return
    parts = [f"{_answers(s.judgments)} {', '.join(s.differs) or 'as set'}" for s in sent]
    yield (
        "The requests differ, because the server refused some settings of the judge: "
        f"{_listed(parts)}."
    )


def _about_models(reported: Sequence[Reported]) -> Iterable[str]:
    models: dict[str, int] = {}
    for report in reported:
        models[report.model] = models.get(report.model, 0) + report.judgments
    if len(models) > 1:
        parts = [f"{name or 'no name'} ({_answers(n)})" for name, n in models.items()]
        yield f"The server named {len(models)} models: {_listed(parts)}."
    elif len(reported) > 1:
        parts = [
            f"{report.fingerprint or 'none'} ({_answers(report.judgments)})" for report in reported
        ]
        yield (
            f"The server named {len(reported)} versions of the model by its fingerprint: "
            f"{_listed(parts)}."
        )


def _answers(count: int) -> str:
    return f"{count:,} answer{'' if count == 1 else 's'}"


def _listed(parts: Sequence[str]) -> str:
    more = f"; and {len(parts) - _MOST} more" if len(parts) > _MOST else ""
    return "; ".join(parts[:_MOST]) + more


@dataclass(frozen=True)
class Conditions:
    """The conditions of the answers of a run, the most frequent first.

    `other_form` is a sentence about the run that asks the same in another form.
    """

    sent: tuple[Sent, ...] = ()
    reported: tuple[Reported, ...] = ()
    other_form: str = ""

    @property
    def sentences(self) -> list[str]:
        return [*filter(None, [self.other_form]), *sentences(self.sent, self.reported)]


def conditions_of(runs: Collection[JudgeRun]) -> dict[int, Conditions]:
    """The conditions of runs by id; two queries, and one more if a run goes on from another.

    Empty for runs without answers.
    """
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
    forms = _other_forms(runs)
    known = SentParameters.objects.in_bulk({pk for counts in sent.values() for pk in counts})
    return {
        run.pk: Conditions(
            _sent(judge_of(run), {known[pk].sha256: n for pk, n in sent[run.pk].items()}, known),
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
            forms.get(run.pk, ""),
        )
        for run in runs
    }


def _other_forms(runs: Collection[JudgeRun]) -> dict[int, str]:
    """Sentences about the runs that ask the same in another form, by the id of the run."""
    others = {
        run.pk: str(run.parameters[name])
        for run in runs
        for name in (CONTINUED_BY, GOES_ON_FROM)
        if name in run.parameters
    }
    if not others:
        return {}
    rows = JudgeRun.objects.filter(public_id__in=others.values()).values_list("public_id", "key")
    keys = {public_id: key[:12] for public_id, key in rows}
    return {
        run.pk: (
            "Two conditions were used: this run requests structured replies, and goes on from run "
            f"{keys[others[run.pk]]}, which asked for text. They are counted apart."
            if GOES_ON_FROM in run.parameters
            else "Two conditions were used: this run asked for text, and run "
            f"{keys[others[run.pk]]} goes on with structured replies. They are counted apart."
        )
        for run in runs
        if others.get(run.pk) in keys
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
    """Most frequent first, in a fixed order for equal counts on every database."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _differences(judge: Judge, parameters: dict[str, Any]) -> list[str]:
    intended = kind_of(judge).intended_parameters(settings_of(judge))
    return differences(intended.values, parameters)
