"""Anchors: items of a run that are asked at its start and again at its end.

They are judgments of their own that count nowhere else. Both are asked with the words, the order
and the seed of the run's own question, so a model that has not changed gets the same request twice.
"""

import hashlib
from heapq import nsmallest

from django.db.models import F, Max, QuerySet

from judging.models import JudgeRun, Judgment

State = Judgment.State
Anchor = Judgment.Anchor


def waiting(run: JudgeRun) -> QuerySet[Judgment]:
    """The anchors that are not answered yet."""
    return _anchors(run).filter(state__in=Judgment.OPEN)


def create_anchors(run: JudgeRun, *, asks_more: bool) -> int:
    """Create the anchors that a run lacks, and return how many.

    A new run gets its start and its end. A run that ended and asks more (`asks_more`) gets another
    end; its items stay the same.
    """
    if not run.anchors:
        return 0
    starts = list(_anchors(run).filter(anchor=Anchor.START).order_by("pk"))
    new = []
    if not starts:
        chosen = _choose(run)
        new += [_anchor(run, judgment, Anchor.START, 1) for judgment in chosen]
        new += [_anchor(run, judgment, Anchor.END, 1) for judgment in chosen]
    elif asks_more and not _ends(run).filter(state__in=Judgment.OPEN).exists():
        last = _ends(run).aggregate(last=Max("sample"))["last"] or 0
        new += [_anchor(run, start, Anchor.END, last + 1) for start in starts]
    Judgment.everything.bulk_create(new)
    return len(new)


def count_new(run: JudgeRun, *, items: int, questions: int) -> int:
    """The number of anchors that starting a run, stored or not, would ask.

    It has `items`, and would ask so many `questions` of its own.
    """
    if not run.anchors:
        return 0
    known = 0 if run.pk is None else _anchors(run).filter(anchor=Anchor.START).count()
    if not known:
        return 2 * min(run.anchors, items)
    there = waiting(run).count()
    ends_again = questions and not _ends(run).filter(state__in=Judgment.OPEN).exists()
    return there + (known if ends_again else 0)


def retry_failed_anchors(run: JudgeRun) -> int:
    """Ask failed anchors again; return how many.

    A start is asked again only while no other question of the run has an answer: later it would
    not be the start.
    """
    failed = _anchors(run).filter(state=State.ERROR)
    if Judgment.objects.filter(run=run, answered_at__isnull=False).exists():
        failed = failed.filter(anchor=Anchor.END)
    return failed.update(state=State.PENDING, error="")


def _anchors(run: JudgeRun) -> QuerySet[Judgment]:
    return Judgment.everything.filter(run=run.pk).exclude(anchor="")


def _ends(run: JudgeRun) -> QuerySet[Judgment]:
    return _anchors(run).filter(anchor=Anchor.END)


def _choose(run: JudgeRun) -> list[Judgment]:
    """One question about each of some items, drawn by a hash of the run's seed."""
    asked = (
        Judgment.objects.filter(run=run.pk, sample=1)
        .exclude(state=State.SKIPPED)
        .annotate(item_key=F("item__key"))
        .order_by("pk")
        .values_list("item_key", "shown_first", "pk")
    )
    drawn = nsmallest(2 * run.anchors, asked.iterator(), key=lambda row: _hash(run, *row[:2]))
    by_item: dict[str, int] = {}
    for key, _, pk in drawn:
        by_item.setdefault(key, pk)
    chosen = list(by_item.values())[: run.anchors]
    return list(Judgment.objects.filter(pk__in=chosen).order_by("pk"))


def _hash(run: JudgeRun, key: str, shown_first: str) -> tuple[bytes, bytes]:
    """By item, then by order."""
    item = hashlib.sha256(f"anchor|{run.seed}|{key}".encode()).digest()
    return item, hashlib.sha256(item + shown_first.encode()).digest()


def _anchor(run: JudgeRun, like: Judgment, anchor: Anchor, sample: int) -> Judgment:
    return Judgment(
        run=run,
        item_id=like.item_id,
        shown_first=like.shown_first,
        sample=sample,
        anchor=anchor,
    )
