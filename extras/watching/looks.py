"""Begin and finish looks at watched sets: by a press, a command or the schedule."""

from datetime import timedelta
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from extras.watching.asking import Round, ask_again, cost_words, wait_for
from extras.watching.freezing import CannotWatch
from extras.watching.models import Look, WatchedSet
from extras.watching.numbers import look_numbers, world_numbers
from judging.errors import JudgingError
from judging.models import JudgeRun, Judgment
from judging.runs.records import changes, new_versions
from studies.jobs.queueing import queue
from studies.models import Item, Study
from studies.services.studies import lock_study, record
from studies.statements import clock


@transaction.atomic
def begin_look(watched_id: int, *, user: User | None = None, enqueue: bool = True) -> Look:
    """Ask a set's judge again, or return the look that is being asked.

    The first looks are the baseline. Nothing is asked of a judge that is known to be another one.
    Raises `CannotWatch`.
    """
    watched = _locked(watched_id)
    if open_look := watched.looks.filter(state=Look.State.ASKING).first():
        return open_look
    if watched.ended_at is not None:
        raise CannotWatch("Watching this set was stopped. Freeze another one.")
    if watched.study.archived_at is not None:
        raise CannotWatch("This study is archived. Take it out of the archive first.")
    frozen, run = watched.frozen, watched.run
    is_baseline = not has_baseline(watched)
    look = Look(
        watched=watched,
        number=watched.looks.count() + 1,
        is_baseline=is_baseline,
        requested_by=user,
    )
    if another := changes(run, frozen["judge"], frozen["protocol"]):
        if is_baseline:
            raise CannotWatch(
                f"{' '.join(another)} The baseline cannot be completed. Freeze another set."
            )
        watched.next_at = None
        watched.save(update_fields=["next_at"])
        _finish(look, {"another": another, **world_numbers(watched)}, "Nothing was asked.")
        return look
    questions = _questions(watched)
    if not questions:
        raise CannotWatch(
            "Every item of this set was changed or taken out. Freeze another set of items."
        )
    try:
        look.round = ask_again(run, questions, enqueue=enqueue, user=user).number
    except JudgingError as error:
        raise CannotWatch(str(error)) from error
    look.save()
    return look


def has_baseline(watched: WatchedSet) -> bool:
    """Whether the judge was asked often enough to know how much its answers vary."""
    return _baseline(watched).count() >= watched.at_once


def _baseline(watched: WatchedSet) -> QuerySet[Look]:
    return watched.looks.filter(is_baseline=True, state=Look.State.DONE)


def finish_look(look_id: int) -> bool:
    """Store what a look found if its questions are answered; whether it has ended."""
    with transaction.atomic():
        unlocked = Look.objects.select_related("watched").get(pk=look_id)
        watched = _locked(unlocked.watched_id)
        look = watched.looks.get(pk=look_id)
        if look.state != Look.State.ASKING:
            return True
        asked = Round(watched.run, look.round)
        is_open = asked.judgments.filter(state__in=Judgment.OPEN).exists()
        if is_open and watched.run.is_active:
            return False
        if is_open:
            why = watched.run.sentence.rstrip(".") or "The run was stopped"
            _fail(look, f"{why}. The next look continues with the questions that are left.")
            return True
        numbers = look_numbers(watched, asked)
        if not numbers["choices"]:
            _fail(look, "The judge answered none of the questions. Open the run to see why.")
            return True
        if not look.is_baseline:
            numbers |= world_numbers(watched)
            numbers["another"] = new_versions(watched.frozen["judge"], numbers["versions"])
        _finish(look, numbers)
    return True


def _questions(watched: WatchedSet) -> list[tuple[int, str, int]]:
    """The questions about items that are as they were."""
    frozen = watched.frozen["items"]
    hashes = dict(Item.objects.filter(study=watched.study).values_list("pk", "content_hash"))
    return [
        (item["id"], item["shown_first"], item["sample"])
        for item in frozen
        if hashes.get(item["id"]) == item["hash"]
    ]


def _locked(watched_id: int) -> WatchedSet:
    sets = WatchedSet.objects.select_related(
        "study", "run__study", "run__judge", "run__wording", "used_in"
    )
    watched = sets.get(pk=watched_id)
    lock_study(watched.study_id)
    watched.refresh_from_db(fields=["ended_at", "next_at", "result", "read"])
    return watched


def _fail(look: Look, message: str) -> None:
    look.state, look.message, look.finished_at = Look.State.FAILED, message, clock.now()
    look.save()


def _finish(look: Look, numbers: dict[str, Any], message: str = "") -> None:
    """Store a look's numbers and the set's result, and tell people of a new move."""
    from extras.watching.results import MOVED, result_of
    from extras.watching.tasks import send_notice

    look.state, look.message, look.finished_at = Look.State.DONE, message, clock.now()
    look.numbers = numbers
    look.save()
    watched = look.watched
    if look.is_baseline:
        if has_baseline(watched):
            _set_next(watched)
        return
    before = watched.result["moved"] if watched.result else []
    watched.result = result_of(watched)
    watched.save(update_fields=["result"])
    if new := [kind for kind in watched.result["moved"] if kind not in before]:
        record(
            watched.study,
            "watched set moved",
            watched=watched.public_id,
            moved=[MOVED[kind] for kind in new],
        )
        if watched.sends_mail:
            transaction.on_commit(partial(queue, send_notice, watched.pk))


def sets_of(study: Study, public_id: str = "") -> list[WatchedSet]:
    """The sets of a study that are watched, or one of them. Raises `CannotWatch` without any."""
    sets = WatchedSet.objects.filter(study=study, ended_at=None).select_related(
        "study", "run__judge", "run__study", "used_in"
    )
    if public_id:
        sets = sets.filter(public_id=public_id)
    if not sets:
        what = f"watched set {public_id}" if public_id else "watched sets"
        raise CannotWatch(
            f"Study “{study.slug}” has no {what}. Freeze a set with the command watch, or on the "
            "page Watched sets."
        )
    return list(sets.order_by("pk"))


def cost_of_look(watched: WatchedSet) -> str:
    """What the next look asks, in words, and the rest of the baseline before it."""
    rounds = 1 + max(0, watched.at_once - _baseline(watched).count())
    return cost_words(watched.run, rounds * len(_questions(watched)))


def ask_baseline(watched: WatchedSet, *, inline: bool) -> None:
    """Ask the rest of a baseline, and wait for the answers. Raises `CannotWatch`."""
    while not has_baseline(watched):
        _ask(watched, inline=inline)


def look_and_wait(watched: WatchedSet, *, inline: bool) -> None:
    """Ask the rest of the baseline and one look, and wait for the answers.

    Raises `CannotWatch` if a look fails.
    """
    while _ask(watched, inline=inline).is_baseline:
        pass


def _ask(watched: WatchedSet, *, inline: bool) -> Look:
    look = begin_look(watched.pk, enqueue=not inline)
    if look.state == Look.State.ASKING:
        run = JudgeRun.objects.select_related("judge", "study").get(pk=watched.run_id)
        try:
            wait_for(Round(run, look.round), inline=inline)
        except JudgingError as error:
            raise CannotWatch(str(error)) from error
        finish_look(look.pk)
        look.refresh_from_db()
    if look.state != Look.State.DONE:
        raise CannotWatch(look.message or "The questions are still being asked. Try again.")
    return look


def follow_up() -> None:
    """Finish looks whose questions are answered, and begin those that are due."""
    for look in Look.objects.filter(state=Look.State.ASKING).select_related("watched__study"):
        if look.watched.study.has_extra("watching") and finish_look(look.pk):
            look.refresh_from_db()
            if look.state == Look.State.DONE and not has_baseline(look.watched):
                _try(look.watched)
    now = clock.now()
    due = WatchedSet.objects.filter(next_at__lte=now, ended_at=None).select_related("study")
    for watched in due:
        if watched.study.has_extra("watching"):
            _set_next(watched)
            _try(watched)


def _set_next(watched: WatchedSet) -> None:
    """Schedule the next look."""
    days = watched.every_days
    next_at = clock.now() + timedelta(days=days) if days else None
    WatchedSet.objects.filter(pk=watched.pk).update(next_at=next_at)


def _try(watched: WatchedSet) -> None:
    """Begin a look, or store why that is not possible."""
    try:
        begin_look(watched.pk)
    except CannotWatch as error:
        with transaction.atomic():
            lock_study(watched.study_id)
            number = watched.looks.count() + 1
            is_baseline = not has_baseline(watched)
            _fail(Look(watched=watched, number=number, is_baseline=is_baseline), str(error))


@transaction.atomic
def stop_watching(watched_id: int, *, user: User | None = None) -> None:
    """Look no more; the results stay."""
    watched = _locked(watched_id)
    if watched.ended_at is None:
        watched.ended_at, watched.next_at = clock.now(), None
        watched.save(update_fields=["ended_at", "next_at"])
        record(watched.study, "watching stopped", user=user, watched=watched.public_id)


@transaction.atomic
def mark_as_read(watched_id: int) -> None:
    """Take the moves that a set shows out of what needs somebody."""
    watched = _locked(watched_id)
    watched.read = watched.result["moved"] if watched.result else []
    watched.save(update_fields=["read"])
