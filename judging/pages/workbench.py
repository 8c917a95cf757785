"""Contributions of judges to a study's pages, and of extras to the pages of judges."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from django.db.models import Count, Max, Q, Sum
from django.urls import reverse

from judging.backends.backend import IMPORTED
from judging.models import NANO, Judge, JudgeRun
from judging.runs.structured_replies import offer_of
from judging.selectors import RunProgress, RunRow, run_rows
from studies.extra import Kind
from studies.models import Study
from studies.pages.workbench import (
    ListCell,
    Mark,
    MonitorCard,
    Need,
    SectionPage,
    SetupTask,
    TaskState,
    once,
)
from studies.statements import clock
from studies.templatetags.humanize_numbers import dollars

if TYPE_CHECKING:
    from judging.models import Campaign, Jury


@dataclass(frozen=True)
class JuryAction:
    """A button for editors: its `template` is shown with `campaign` and `jury` where `is_open`."""

    name: str
    template: str
    is_open: Callable[[Campaign, Jury], bool]


JURY_ACTIONS: Kind[JuryAction] = Kind("parts", "campaign")


_MOST_JUDGES = 6
_STOPPED = (JudgeRun.State.STOPPED_BUDGET, JudgeRun.State.STOPPED_OUTAGE)
# A worker updates its run every few seconds.
_STALLED_AFTER = timedelta(minutes=5)


@dataclass(frozen=True)
class JudgeLine:
    """A judge with the progress of its runs; `state` is that of the first that is not done."""

    name: str
    runs: int
    progress: RunProgress
    state: str
    speed: int


def judges_mark(study: Study) -> list[Mark]:
    runs = list(JudgeRun.objects.filter(study=study).values_list("state", "probe_first"))
    states = Counter(state for state, _ in runs)
    stopped = sum(states[state] for state in _STOPPED)
    waiting = sum(probe and state == JudgeRun.State.PAUSED for state, probe in runs)
    alerts = [f"{stopped:,} stopped" if stopped else "", f"{waiting:,} to start" if waiting else ""]
    return [Mark("judges", len(runs), ", ".join(filter(None, alerts)))]


def judge_cards(study: Study) -> list[MonitorCard]:
    lines = _lines(study)
    judges = {"lines": lines[:_MOST_JUDGES], "others": max(0, len(lines) - _MOST_JUDGES)}
    own = [row.run for row in _rows(study) if not row.run.is_imported]
    budgets = [run.budget for run in own if run.budget is not None]
    money = {
        "spent": sum((run.spent for run in own), start=JudgeRun().spent),
        "budget": sum(budgets) if budgets and len(budgets) == len(own) else None,
        "tokens": sum(run.tokens for run in own),
        "unpriced": sum(not run.judge.is_priced for run in own),
    }
    return [
        MonitorCard("judges", "judging/monitor/judges.html", judges),
        MonitorCard("money", "judging/monitor/money.html", money),
    ]


def _lines(study: Study) -> list[JudgeLine]:
    """One line for each judge, those with work left first."""
    by_judge: defaultdict[str, list[RunRow]] = defaultdict(list)
    for row in _rows(study):
        by_judge[row.run.judge.name].append(row)
    lines = []
    for name, rows in by_judge.items():
        unfinished = [row.run for row in rows if row.run.state != JudgeRun.State.DONE]
        progress = sum((row.progress for row in rows), start=RunProgress())
        state = unfinished[0].state_words if unfinished else ""
        lines.append(JudgeLine(name, len(rows), progress, state, sum(row.speed for row in rows)))
    return sorted(lines, key=lambda line: not line.state)


def judge_needs(study: Study) -> Iterator[Need]:
    """One entry per problem: for one run its reason, for several their number."""
    rows = _rows(study)
    late = clock.now() - _STALLED_AFTER
    kinds = {
        "stopped": [row for row in rows if row.run.state in _STOPPED],
        "stalled": [
            row
            for row in rows
            if row.run.is_active and (row.run.touched_at or row.run.created_at) < late
        ],
        "waiting to start": [
            row for row in rows if row.run.awaits_yes and row.run.state == JudgeRun.State.PAUSED
        ],
        "done with failed questions": [
            row for row in rows if row.run.state == JudgeRun.State.DONE and row.progress.error
        ],
    }
    for kind, runs_of_kind in kinds.items():
        if runs_of_kind:
            yield _need(study, kind, runs_of_kind)
    for row in rows:
        if row.progress.unparseable and (offer := offer_of(row.run)):
            words = f"{row.run.judge.name} ({row.run.get_setting_display()}): {offer.words}"
            address = reverse("judging:run", args=[study.slug, row.run.public_id])
            yield Need(words, address, "Open the run")


def _need(study: Study, kind: str, rows: list[RunRow]) -> Need:
    if len(rows) > 1:
        words = f"{len(rows):,} judge runs are {kind}."
        return Need(words, reverse("judging:list", args=[study.slug]), "Show runs")
    run = rows[0].run
    reason = run.sentence if kind == "stopped" else ""
    words = f"{run.judge.name} ({run.get_setting_display()}) is {kind}. {reason}".strip()
    return Need(words, reverse("judging:run", args=[study.slug, run.public_id]), "Show run")


def _rows(study: Study) -> list[RunRow]:
    return list(once(study, "runs", lambda: run_rows(study, study.judge_runs.all())))


def judge_tasks(study: Study) -> list[SetupTask]:
    address = reverse("judging:list", args=[study.slug])
    runs = _rows(study)
    if not runs:
        ready = Judge.objects.filter(is_retired=False).exclude(model=IMPORTED).count()
        if ready:
            words = f"{ready:,} judge{'' if ready == 1 else 's'} can be asked, now or later"
            return [SetupTask("judges", "Judges", TaskState.DONE, words, address)]
        words = "No judge has been added yet. Judges can also answer later"
        address = reverse("judging:add-judge", args=[study.slug])
        return [SetupTask("judges", "Judges", TaskState.NOT_STARTED, words, address)]
    judges = len({row.run.judge_id for row in runs})
    words = f"{judges:,} judge{'s'[: judges != 1]} in {len(runs):,} run{'s'[: len(runs) != 1]}"
    stopped = any(row.run.state in _STOPPED for row in runs)
    state = TaskState.ATTENTION if stopped else TaskState.DONE
    return [SetupTask("judges", "Judges", state, words, address)]


def run_cells(studies: Sequence[Study]) -> dict[int, ListCell]:
    """How many runs are done, and how many stopped before their end."""
    rows = (
        JudgeRun.objects.filter(study__in=studies)
        .order_by()
        .values_list("study")
        .annotate(
            runs=Count("pk"),
            done=Count("pk", filter=Q(state=JudgeRun.State.DONE)),
            stopped=Count("pk", filter=Q(state__in=_STOPPED)),
        )
    )
    return {
        pk: ListCell(f"{done:,} / {runs:,}", f"{stopped:,} stopped" if stopped else "")
        for pk, runs, done, stopped in rows
    }


def spent_cells(studies: Sequence[Study]) -> dict[int, ListCell]:
    rows = (
        JudgeRun.objects.filter(study__in=studies, spent_nano__gt=0)
        .order_by()
        .values_list("study")
        .annotate(nano=Sum("spent_nano"))
    )
    return {pk: ListCell(dollars(Decimal(nano) / NANO)) for pk, nano in rows}


def latest_runs(studies: Sequence[Study]) -> dict[int, ListCell]:
    rows = (
        JudgeRun.objects.filter(study__in=studies)
        .order_by()
        .values_list("study")
        .annotate(made=Max("created_at"), touched=Max("touched_at"))
    )
    return {
        pk: ListCell(when=max(filter(None, (created, touched)))) for pk, created, touched in rows
    }


def run_pages(study: Study) -> list[SectionPage]:
    return [
        SectionPage("judges", "Runs", reverse("judging:list", args=[study.slug])),
        SectionPage(
            "judges",
            "Available judges",
            reverse("judging:judges", args=[study.slug]),
            for_editors=True,
        ),
        SectionPage(
            "judges", "Wordings", reverse("judging:wordings", args=[study.slug]), once="judges"
        ),
    ]
