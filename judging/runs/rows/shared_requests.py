"""Judgments that one request answers, of protocols that `shares_requests`.

Of all judgments of a run with the same request, the first is asked. The others wait for it
(`Judgment.asked_with`), and their choices follow from its reply.
"""

from collections.abc import Collection, Sequence

from judging.models import JudgeRun, Judgment
from judging.protocols.protocol import Request
from judging.protocols.registry import protocol

_PORTION = 500


def share_requests(run: JudgeRun) -> None:
    """Let new judgments wait for the one with the same request; call it at creation."""
    rows = Judgment.objects.filter(run=run.pk, asked_with=None)
    rows = rows.exclude(state=Judgment.State.SKIPPED).order_by("pk")
    found = list(rows.values_list("pk", "item_id", "shown_first", "sample"))
    places = protocol(run.setting).places(run, sorted({item for _, item, *_ in found}))
    first: dict[Request, int] = {}
    waiting = []
    for pk, item, shown_first, sample in found:
        request = places.request(item, shown_first, sample)
        if request is not None and first.setdefault(request, pk) != pk:
            waiting.append(Judgment(pk=pk, asked_with_id=first[request]))
    Judgment.objects.bulk_update(waiting, ["asked_with"], batch_size=_PORTION)


def count_requests(run: JudgeRun, rows: Sequence[tuple[int, str, int]]) -> int:
    """The number of requests that new judgments, by item, order and sample, would take."""
    there = Judgment.objects.filter(run=run.pk).exclude(state=Judgment.State.SKIPPED)
    stored = list(there.values_list("item_id", "shown_first", "sample")) if run.pk else []
    places = protocol(run.setting).places(run, sorted({item for item, *_ in (*rows, *stored)}))
    known = {places.request(*row) for row in stored}
    return len({places.request(*row) for row in rows} - known)


def requests_in(run: JudgeRun, states: Collection[str]) -> int:
    """The number of judgments of a run in some states that are asked themselves."""
    return Judgment.objects.filter(run=run.pk, state__in=states, asked_with=None).count()
