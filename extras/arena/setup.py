"""Setting an arena up, opening it and pausing it."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.urls import reverse

from extras.arena.asking import PROMPT_SHA256, able, drop_pairs, most_nano, spent_nano, wake
from extras.arena.models import Arena, ArenaPair, ArenaSystem
from extras.arena.seats import arena_of
from judging.models import NANO, Judge
from judging.worker.endpoints import check_sharing
from judging.worker.job_requests import judges_that_write
from studies.errors import StudyError
from studies.models import Study, Task
from studies.pages.workbench import Need, SetupTask, TaskState
from studies.services.studies import change_state, lock_study, open_draft, record
from studies.statements import clock

LIMITS = ("stock", "per_hour", "longest", "forbidden", "show_persona")
_NO_BUDGET = (
    "An arena opens only with a budget: without one, nothing would end what the systems cost. Give "
    "it a budget in US dollars."
)


@transaction.atomic
def set_up(
    *,
    study_id: int,
    systems: Sequence[Judge] | None = None,
    user: User | None = None,
    **limits: Any,
) -> Arena:
    """Create or change the arena of a study; `limits` are its budget and `LIMITS`.

    Systems that are no longer named get no further pairs. Raises `StudyError`, `BadJudge` if items
    must not be sent to a system, and `ValidationError` by the names of the limits.
    """
    study = lock_study(study_id)
    if study.task != Task.PREFERENCE or study.shows_whole_sets:
        raise StudyError(
            "In an arena, people choose between two responses. Set the task to “preference” and "
            "show pairs, or use another study."
        )
    arena = arena_of(study) or Arena(study=study, state=Arena.State.DONE, message="Not open yet.")
    before = {name: getattr(arena, name) for name in ("budget", *LIMITS)}
    for name, value in limits.items():
        setattr(arena, name, value)
    arena.prompt_sha256 = PROMPT_SHA256
    checked = {"budget", *LIMITS}
    arena.clean_fields(exclude={field.name for field in Arena._meta.fields} - checked)
    if arena.is_live and not arena.budget:
        raise StudyError(_NO_BUDGET)
    if arena.budget is not None and arena.budget <= 0:
        raise ValidationError({"budget": "Use an amount above 0."})
    arena.save()
    after = {name: getattr(arena, name) for name in before}
    changed: dict[str, Any] = {
        name: str(after[name]) for name in after if after[name] != before[name]
    }
    if systems is not None:
        changed |= _set_systems(arena, systems)
    if changed:
        record(study, "arena changed", user=user, **changed)
    return arena


def _set_systems(arena: Arena, judges: Sequence[Judge]) -> Mapping[str, Any]:
    names = [judge.name for judge in judges]
    if len({*names}) < 2:
        raise StudyError("An arena needs at least two different systems.")
    writing = {judge.pk for judge in judges_that_write()}
    for judge in judges:
        if judge.pk not in writing:
            raise StudyError(f"“{judge.name}” cannot write responses. Use a model at an address.")
        if judge.price_input is None or judge.price_output is None:
            raise StudyError(
                f"“{judge.name}” has no price, so the budget could not be kept. Set the prices of "
                "the judge; 0 if it costs nothing."
            )
        check_sharing(arena.study, judge)
    present = {*arena.systems.filter(is_out=False).values_list("name", flat=True)}
    for judge in judges:
        ArenaSystem.objects.update_or_create(
            arena=arena, name=judge.name, defaults={"judge": judge, "is_out": False}
        )
    arena.systems.exclude(name__in=names).update(is_out=True)
    return {"systems": sorted(names)} if present != {*names} else {}


def why_not_open(arena: Arena) -> str:
    """Why the arena cannot open; empty if it can."""
    study = arena.study
    if not arena.budget:
        return _NO_BUDGET
    systems = list(arena.systems.filter(is_out=False, judge__isnull=False).select_related("judge"))
    if len(systems) < 2:
        return "An arena needs at least two systems. Choose them first."
    if not arena.questions.exists():
        return "The arena has no questions. Add a file with personas and questions first."
    if study.human_sample is not None or study.draw:
        return (
            "People get only a sample of the study’s items, but an arena needs seats at all of "
            "them. Empty “Number of items for annotators” in the settings."
        )
    if arena.stock < study.items_per_annotator:
        return (
            f"Each annotator gets {study.items_per_annotator:,} items, but only {arena.stock:,} "
            "are written ahead. Raise the stock, or lower the items per annotator in the settings."
        )
    question = arena.questions.select_related("persona").earliest("pk")
    judges = [system.judge for system in systems if system.judge is not None]
    dearest = sorted(most_nano(arena, question, judge) for judge in judges)[-2:]
    left = int(arena.budget * NANO) - spent_nano(arena)
    if left < sum(dearest):
        return (
            f"${max(left, 0) / NANO:.4f} of the budget is left, but a pair can cost up to "
            f"${sum(dearest) / NANO:.4f}. Raise the budget, or lower the tokens of the systems."
        )
    return ""


def open_arena(*, arena: Arena, user: User | None = None, reason: str = "") -> Arena:
    """Let people in: the study opens too. Repeats change nothing.

    Nothing is asked before somebody has agreed to take part. Raises `StudyError`.
    """
    if problem := why_not_open(arena):
        raise StudyError(problem)
    if not arena.is_live:
        Arena.objects.filter(pk=arena.pk).update(
            is_live=True, why_stopped="", opened_at=clock.now()
        )
        record(arena.study, "arena opened", user=user, budget=str(arena.budget))
    arena.refresh_from_db()
    study = Study.objects.get(pk=arena.study_id)
    try:
        if study.state == Study.State.DRAFT and user is not None:
            open_draft(study=study, reason=reason, user=user)
        elif study.state != Study.State.OPEN:
            change_state(study_id=study.pk, state=Study.State.OPEN, user=user)
    except StudyError:
        Arena.objects.filter(pk=arena.pk).update(is_live=False)
        raise
    arena = Arena.objects.select_related("study").get(pk=arena.pk)
    wake(arena)
    return arena


def pause_arena(*, arena: Arena, user: User | None = None) -> Arena:
    """Have no further pairs written, and let nobody new in; who has items finishes them."""
    if Arena.objects.filter(pk=arena.pk, is_live=True).update(is_live=False):
        record(arena.study, "arena paused", user=user)
        drop_pairs(arena, arena.pairs.filter(state=ArenaPair.State.OPEN), "The arena was paused.")
        if Study.objects.get(pk=arena.study_id).state == Study.State.OPEN:
            change_state(study_id=arena.study_id, state=Study.State.PAUSED, user=user)
    arena.refresh_from_db()
    return arena


def settings_of(arena: Arena) -> dict[str, Any]:
    """Its budget, limits and systems, as files and forms have them."""
    budget = "" if arena.budget is None else f"{Decimal(arena.budget).normalize():f}"
    names = arena.systems.filter(is_out=False).order_by("name").values_list("name", flat=True)
    return {
        "systems": list(names),
        "budget": budget,
        **{name: getattr(arena, name) for name in LIMITS},
    }


def arena_task(study: Study) -> Iterator[SetupTask]:
    """The step of the set-up list that stands for importing items, and for opening the study.

    Until there is an arena it stands next to them, because a study may turn it on and not use it.
    """
    arena = arena_of(study)
    address = reverse("arena:arena", args=[study.slug])
    if arena is None:
        state, words = TaskState.NOT_STARTED, "Choose systems, a budget and questions"
    elif problem := why_not_open(arena):
        state, words = TaskState.ATTENTION, problem
    else:
        state, words = TaskState.NOT_STARTED, "Ready: when the other steps are done, open it"
    yield SetupTask(
        "arena",
        "Live arena",
        state,
        words,
        address,
        is_optional=arena is None,
        after="items",
        instead_of=("items", "profile", "annotators", "launch") if arena else (),
    )


def needed(study: Study) -> Iterator[str]:
    """What has to end before the arena can be turned off."""
    arena = arena_of(study)
    if arena is not None and arena.is_live:
        yield "The arena is open. Pause it first."


def arena_needs(study: Study) -> Iterator[Need]:
    """An arena that stopped, or whose systems cannot be asked."""
    arena = arena_of(study)
    if arena is None or not study.is_under_way:
        return
    if arena.why_stopped:
        yield _need(study, f"The arena has stopped. {arena.why_stopped}")
    elif arena.is_live and able(arena)[:2].count() < 2:
        yield _need(study, "Fewer than two systems of the arena can be asked at the moment.")


def _need(study: Study, sentence: str) -> Need:
    return Need(sentence, reverse("arena:arena", args=[study.slug]), "Open the arena’s page")
