"""The runs of a study, with their judgments as arrays and their costs."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from analysis.data.answer_rows import feature_keys
from analysis.data.arrays import (
    CHOICES,
    MISSING,
    Index,
    ItemData,
    Judgments,
    Prompt,
    RunData,
    RunMoney,
)
from analysis.data.juries import Makers, ProbedRun, probed
from analysis.data.raters import number_columns, number_of, or_nan, places_of
from analysis.data.views import StudyThen
from judging.bias.probe_choices import probe_choice
from judging.models import NANO, Attempt, JudgeRun, Judgment, Jury
from judging.prompts.asking import stored_words, tasks_of_items
from judging.protocols.framings import framing
from judging.protocols.parsing import CERTAINTY
from judging.runs.request_conditions import FILMS, Reported, conditions_of
from judging.worker.budgets import REMOVED
from studies.models import Item as ItemRow
from studies.models import Study


def _without_own_port(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters of a run, without the arbitrary port of a server on this machine.

    >>> _without_own_port({"base_url": "http://127.0.0.1:8001/v1"})
    {'base_url': 'http://127.0.0.1/v1'}
    >>> _without_own_port({"base_url": "http://gpu:8000/v1"})
    {'base_url': 'http://gpu:8000/v1'}
    """
    url = urlsplit(parameters.get("base_url") or "")
    if not _is_this_machine(url.hostname or ""):
        return parameters
    return {
        **parameters,
        "base_url": url._replace(netloc=re.sub(r":\d+$", "", url.netloc)).geturl(),
    }


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def asked_on(slug: str) -> dict[str, str]:
    """The days on which each run of a study asked its model, by the run's key.

    Kept out of the data set, so that the same replies give the same report.json on any day.
    """
    keys = dict(JudgeRun.objects.filter(study__slug=slug).order_by("key").values_list("pk", "key"))
    sent = Attempt.objects.filter(judgment__run__in=keys).order_by().values_list("judgment__run")
    days = {run: ends for run, *ends in sent.annotate(first=Min("sent_at"), last=Max("sent_at"))}
    return {
        key: " to ".join(dict.fromkeys(f"{when:%Y-%m-%d}" for when in days[run]))
        for run, key in keys.items()
        if run in days
    }


def juries_of(study: Study) -> Mapping[str, list[str]]:
    members: dict[str, list[str]] = {}
    for jury, judge in Jury.objects.filter(study=study).values_list("name", "judges__name"):
        members.setdefault(jury, []).append(judge)
    return members


def runs_of(
    study: Study,
    position: Mapping[int, int],
    items: Sequence[ItemData],
    *,
    then: StudyThen | None = None,
) -> tuple[tuple[RunData, ...], tuple[ProbedRun, ...], int]:
    """The study's judge runs, the runs of bias probes, and the number marked as not for the report.

    A run with a probe is only among the second; an ordinary run is also there if a probe is
    compared with it. `then` reads the judgments of an earlier moment.
    """
    every = JudgeRun.objects.filter(study=study).select_related("judge", "study", "wording")
    if then is not None:
        every = every.filter(created_at__lte=then.at)
    stored = [run for run in every if (then.in_report(run) if then else run.in_report)]
    # Filtered by run id, because PostgreSQL can estimate the judgments of a run, not of a study.
    numbers = [run.pk for run in stored]
    judgments = _judgments(numbers, position, then)
    costs = _costs(numbers, Q() if then is None else Q(sent_at__lte=then.at))
    runs = dict[str, RunData]()
    # A run that was only tested and never started is not a judge of the study.
    asked_runs = [run for run in stored if run.pk in judgments and not run.probe_first]
    conditions = conditions_of(asked_runs)
    tasks = tasks_of_items(study) if asked_runs else []
    features = (
        list(feature_keys(study).values()) if any(run.feature_keys for run in asked_runs) else []
    )
    for run in asked_runs:
        run.study = study  # saves a query per run
        rows, snapshots, read_leniently, strictly = judgments[run.pk]
        under, shows = conditions[run.pk], framing(run.framing).shows_profile
        keys = (run.feature_keys or ()) if shows else ()
        cost, asked, at_most = costs.get(run.pk, (RunMoney(0, 0, None, None, None), None, None))
        state, why = (run.state, run.sentence) if then is None else then.state_of(run)
        runs[run.key] = RunData(
            run=run.key,
            judge=run.judge.name,
            setting=run.setting,
            # With this framing a judge sees nothing of the persona, whatever was selected.
            features=run.features if shows else "none",
            backend=run.judge.backend,
            snapshots=snapshots,
            orders=run.orders,
            samples=run.samples,
            seed=run.seed,
            parameters=_without_own_port(run.parameters),
            prompt=_prompt(study, run, tasks),
            state=state,
            state_reason=why,
            cost=cost,
            # What was known when it asked, so that the same replies give the same report.
            price_remark=run.judge.price_remark_on(asked) if cost.usd is not None and asked else "",
            usd_at_most=0.0 if at_most is None else at_most / NANO,
            judgments=rows,
            read_leniently=read_leniently,
            strictly=strictly,
            sent=tuple(
                asdict(condition) | {"differs": list(condition.differs)} for condition in under.sent
            ),
            reported=tuple(_version_records(under.reported)),
            conditions=(
                *under.sentences,
                *_of_films(run),
                *_not_shown(keys, features),
            ),
            wording=run.wording.reference if run.wording else "",
            wording_sha256=run.wording.sha256 if run.wording else "",
            framing=run.framing,
        )
    judging = [runs[run.key] for run in asked_runs if not run.bias_probe]
    probes = _probed(study, asked_runs, runs, items)
    return tuple(sorted(judging, key=_in_order)), probes, len(every) - len(stored)


def _version_records(versions: Sequence[Reported]) -> Iterator[dict[str, Any]]:
    """The versions of a model with their answers, and with times if there are several.

    With a single version times are useless, and would make reports of the same replies differ.
    """
    for one in versions:
        version: dict[str, Any] = {
            "judgments": one.judgments,
            "model": one.model,
            "fingerprint": one.fingerprint,
        }
        if len(versions) > 1:
            version["first"], version["last"] = one.minutes
        yield version


def _of_films(run: JudgeRun) -> Iterator[str]:
    """What the judge got of films that people saw whole."""
    if frames := run.parameters.get(FILMS):
        yield f"Of films the judge got {frames}; people saw and heard the films."


def _not_shown(asked: Sequence[str], personas: Sequence[Sequence[str]]) -> Iterator[str]:
    """Sentences on features that a run should show but some personas lack."""
    for key in asked:
        if n := sum(key not in keys for keys in personas):
            yield f"{n:,} of {len(personas):,} personas lack the requested feature “{key}”."


def _probed(
    study: Study,
    asked_runs: Sequence[JudgeRun],
    runs: Mapping[str, RunData],
    items: Sequence[ItemData],
) -> tuple[ProbedRun, ...]:
    makers: Makers = ()
    if any(probe_choice(run.bias_probe).asks_own for run in asked_runs):
        rows = ItemRow.everything.filter(study=study)
        known = {
            key: pair
            for key, *pair in rows.values_list("key", "r1__generated_by", "r2__generated_by")
        }
        makers = [(known[item.key][0], known[item.key][1]) for item in items]
    every = [probed(run, runs[run.key], items, makers) for run in asked_runs]
    asked = {run.asked_as for run in every if run.name}
    taking_part = [run for run in every if run.asked_as in asked]
    return tuple(
        sorted(taking_part, key=lambda run: (*_in_order(run.run)[:-1], run.name, run.run.run))
    )


def _in_order(run: RunData) -> tuple[Any, ...]:
    # The whole persona first, because runs with fewer features are compared with it.
    return run.judge, run.setting, run.features != "all", run.features, run.run


def _prompt(study: Study, run: JudgeRun, tasks: Sequence[str]) -> Prompt:
    """The words that a run started with, never current ones that may differ.

    Of those of the study's task too, which its hash has, only the `tasks` that items have.
    """
    run.study = study  # saves a query for each run
    words = stored_words(run, sorted({study.task, *tasks}))
    prompts = [prompt for prompt in words.get("prompts", ()) if prompt["task"] in tasks]
    if not prompts:
        return Prompt(None, None, run.prompt_hash)
    words["prompts"] = prompts
    persona = run.feature_keys != [] and framing(run.framing).shows_profile
    prompt = min(
        prompts,
        key=lambda candidate: (candidate["task"] != study.task, candidate["persona"] != persona),
    )
    return Prompt(prompt["template"], prompt["sha256"], run.prompt_hash, words)


class _Stored(NamedTuple):
    """The stored judgments of one run; -1 for missing values."""

    pk: Index
    item: Index
    shown_first: Index
    sample: Index
    choice: Index
    certainty: Index
    state: Index
    replies: Index


def _judgments(
    runs: Sequence[int], position: Mapping[int, int], then: StudyThen | None
) -> dict[int, tuple[Judgments, tuple[str, ...], Mapping[str, int], Judgments | None]]:
    """By run id: the judgments, the reported model snapshots, and, if some were read only
    leniently, their counts by code and the judgments under strict reading.
    """
    every = judgments = Judgment.objects.filter(run__in=runs)
    open_then = list[int]()
    if then is not None:
        every = every.filter(created_at__lte=then.at)
        open_then = [*every.filter(answered_at__gt=then.at).values_list("pk", flat=True)]
        judgments = every.exclude(answered_at__gt=then.at)
    # Few runs have probabilities, and Django parses each JSON value separately.
    more = judgments.filter(Q(probabilities__isnull=False) | Q(details__read__isnull=False))
    probabilities, codes = {}, {}
    for pk, state, stored, details in more.order_by().values_list(
        "pk", "state", "probabilities", "details"
    ):
        if shares := stored if state == Judgment.State.DONE else None:
            probabilities[pk] = [float(shares.get(option, 0)) for option in CHOICES]
        if (code := (details or {}).get("read")) is not None:
            codes[pk] = code
    snapshots = _snapshots(judgments)
    return {
        run: (
            _as_arrays(rows, probabilities),
            tuple(sorted(snapshots[run])),
            *_read_leniently(rows, probabilities, codes),
        )
        for run, rows in _rows_by_run(every, position, open_then)
    }


def _snapshots(judgments: QuerySet[Judgment]) -> Mapping[int, set[str]]:
    named = judgments.filter(item__split=ItemRow.Split.MAIN).exclude(model_snapshot="")
    snapshots: dict[int, set[str]] = defaultdict(set)
    for run, snapshot in named.order_by().values_list("run", "model_snapshot").distinct():
        snapshots[run].add(snapshot)
    return snapshots


def _rows_by_run(
    judgments: QuerySet[Judgment], position: Mapping[int, int], open_then: Sequence[int]
) -> Iterator[tuple[int, _Stored]]:
    """By run id; the judgments `open_then` without what came later."""
    run, pk, item, *others = number_columns(
        judgments,
        "run",
        "pk",
        "item",
        number_of("shown_first", CHOICES),
        "sample",
        number_of("choice", CHOICES),
        Coalesce("certainty", MISSING),
        number_of("state", Judgment.State.values),
        "replies",
    )
    place = places_of(item, position)
    run[place == MISSING] = MISSING
    if open_then:
        *_, choice, certainty, state, replies = others
        late = np.isin(pk, open_then)
        choice[late] = certainty[late] = MISSING
        state[late], replies[late] = Judgment.State.values.index(Judgment.State.PENDING), 0
    for one_run in np.unique(run[run != MISSING]).tolist():
        own = run == one_run
        yield one_run, _Stored(*(column[own] for column in (pk, place, *others)))


def _read_leniently(
    rows: _Stored, probabilities: Mapping[int, list[float]], codes: Mapping[int, str]
) -> tuple[Mapping[str, int], Judgments | None]:
    """Counts of judgments by lenient-reading code, and all judgments under strict reading.

    Strict reading drops what the code added: only the certainty, or the answer too.
    """
    where = np.flatnonzero(np.isin(rows.pk, list(codes)))
    if not where.size:
        return {}, None
    read = [codes[pk] for pk in rows.pk[where].tolist()]
    answers = where[[code != CERTAINTY for code in read]]
    unparseable = Judgment.State.values.index(Judgment.State.UNPARSEABLE)
    strictly = rows._replace(
        choice=_changed(rows.choice, answers, MISSING),
        certainty=_changed(rows.certainty, where, MISSING),
        state=_changed(rows.state, answers, unparseable),
    )
    own = {
        pk: shares for pk, shares in probabilities.items() if codes.get(pk, CERTAINTY) == CERTAINTY
    }
    return dict(sorted(Counter(read).items())), _as_arrays(strictly, own)


def _changed(column: Index, where: Index, value: int) -> Index:
    changed = column.copy()
    changed[where] = value
    return changed


def _as_arrays(rows: _Stored, probabilities: Mapping[int, list[float]]) -> Judgments:
    shares = np.full((rows.pk.size, len(CHOICES)), np.nan)
    stated = np.flatnonzero(np.isin(rows.pk, list(probabilities)))
    if stated.size:
        shares[stated] = [probabilities[pk] for pk in rows.pk[stated].tolist()]
    states = ["open" if state in Judgment.OPEN else state for state in Judgment.State.values]
    return Judgments.from_columns(
        rows.item,
        rows.shown_first,
        rows.sample,
        rows.choice,
        or_nan(rows.certainty),
        np.array(states)[rows.state],
        rows.replies,
        shares,
    )


def _costs(runs: Sequence[int], among: Q) -> dict[int, tuple[RunMoney, date, int | None]]:
    """The costs of each run from the ledger, its last day, and what of its cost is an estimate.

    A sum is unknown if any part is. Costs of judgments that were removed later still count.
    """
    parameters = dict(JudgeRun.objects.filter(pk__in=runs).values_list("pk", "parameters"))
    removed = {run: values.get(REMOVED, {}).get("nano", 0) for run, values in parameters.items()}
    replied = Q(outcome=Attempt.Outcome.REPLIED)
    sums = (
        Attempt.objects.filter(among, judgment__run__in=runs)
        .values_list("judgment__run")
        .annotate(
            requests=Count("pk"),
            failed=Count("pk", filter=~replied),
            tokens_in=Sum("prompt_tokens"),
            tokens_out=Sum("completion_tokens"),
            nano=Sum("cost_nano"),
            unpriced=Count("pk", filter=replied & Q(cost_nano=None)),
            at_most=Sum("cost_nano", filter=Q(cost_is_estimate=True)),
            last=Max("sent_at"),
        )
        .order_by()
    )
    return {
        run: (
            RunMoney(
                *(requests, failed, sent, got),
                None if unpriced or nano is None else (nano + removed[run]) / NANO,
            ),
            last.date(),
            at_most,
        )
        for run, requests, failed, sent, got, nano, unpriced, at_most, last in sums
    }
