"""Seats at items that are written while people take part, and the page of who waits for them."""

from datetime import timedelta

from django.db import transaction
from django.db.models import F

from annotation.models import Annotator
from annotation.seats import flow
from annotation.seats.assignment import LaterItems
from extras.arena.asking import wake
from extras.arena.models import Arena
from studies.models import Item, Study
from studies.statements import clock

# Then people get what there is, so that a slow model costs nobody their turn.
PATIENCE = timedelta(seconds=90)


def arena_of(study: Study) -> Arena | None:
    return Arena.objects.filter(study=study.pk).select_related("study").first()


def _words(study: Study) -> str:
    arena = arena_of(study)
    if arena is None or not arena.is_live:
        return ""
    return f"Items are written while people take part, {arena.stock:,} ahead."


def _wake_later(annotator: Annotator) -> None:
    """Look for missing pairs once the seats that the annotator takes now are taken."""
    study = annotator.study
    transaction.on_commit(lambda: wake(arena_of(study)))


def _holds(annotator: Annotator) -> bool:
    arena = arena_of(annotator.study)
    if arena is None:
        return False
    study, now = annotator.study, clock.now()
    items = Item.objects.filter(study=study, seats_needed__gt=0)
    ready = items.filter(seats_taken__lt=F("seats_needed")).count()
    _wake_later(annotator)
    if ready >= study.items_per_annotator:
        return False
    has_any = ready > 0 or items.exists()
    if not arena.is_live or study.state != Study.State.OPEN:
        if not has_any:
            flow.end(annotator, Annotator.State.CLOSED)
        return not has_any
    if has_any and now - (annotator.qualified_at or now) > PATIENCE:
        return False
    # Waiting takes none of the time for the items.
    annotator.expires_at = now + flow.time_limit(study)
    if annotator.first_answer_by is not None:
        annotator.first_answer_by = flow.limit()
    annotator.save(update_fields=["expires_at", "first_answer_by"])
    return True


WRITTEN_NOW = LaterItems("arena", "annotation/arena_wait.html", _words, _wake_later, _holds)
