"""The brake of a run whose replies cannot be read: it pauses before it has asked everything.

A press of “Go on all the same”, or `judge --go-on`, lets it go on to its end.
"""

import threading
from collections import Counter
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count

from judging.models import Attempt, JudgeRun, Judgment
from judging.worker.run_states import stop

LOOKED_AT = 20  # questions with an answer, before which no run is paused
ONE_IN = 5  # a run goes on by itself if one in so many questions has a readable reply
SAMPLES = 3
_LONGEST = 300
_ACCEPTED = "goes_on_unread"  # in the parameters of a run
_DONE, _REFUSED = Judgment.State.DONE, Judgment.State.REFUSED
_STATES = (_DONE, _REFUSED, Judgment.State.UNPARSEABLE)


def is_too_few(readable: int, answered: int) -> bool:
    return answered >= LOOKED_AT and readable * ONE_IN < answered


class AnswerCounts:
    """How the questions of a run were answered, as far as this process knows."""

    def __init__(self, run_id: int) -> None:
        self._next = LOOKED_AT
        self.is_cleared = False  # somebody agreed, or the whole run has enough
        self._lock = threading.Lock()
        self.read(run_id)

    def read(self, run_id: int) -> None:
        known = answer_counts(run_id)
        self._readable, self.answered = known[_DONE], sum(known.values())

    @property
    def is_on_trial(self) -> bool:
        """Whether the first answers may still show that the replies cannot be read."""
        return not self.is_cleared and self._readable * ONE_IN < LOOKED_AT

    def add(self, state: str) -> bool:
        """Count an answer; return whether `pause_if_unread` has to look at the whole run."""
        if state not in _STATES:
            return False
        with self._lock:
            self.answered += 1
            self._readable += state == _DONE
            if self.answered < self._next or not is_too_few(self._readable, self.answered):
                return False
            self._next = self.answered + LOOKED_AT  # others may know of more
            return True


def most_to_ask(run_id: int, counts: AnswerCounts, *, most: int) -> int:
    """How many questions may be leased now: few, until the first answers are known.

    Call it with the run locked, so that two workers do not lease the same few.
    """
    if not counts.is_on_trial:
        return most
    counts.read(run_id)
    if counts.answered >= LOOKED_AT:
        counts.is_cleared = not pause_if_unread(run_id)
    if not counts.is_on_trial:
        return most
    leased = Judgment.everything.filter(run=run_id, state=Judgment.State.LEASED).count()
    return min(most, max(0, LOOKED_AT - counts.answered - leased))


def answer_counts(run_id: int) -> Counter[str]:
    """The answers of a run that it has asked for itself, by state."""
    asked = Judgment.objects.filter(run=run_id, state__in=_STATES, reused_from=None)
    return Counter(dict(asked.order_by("state").values_list("state").annotate(n=Count("pk"))))


def pause_if_unread(run_id: int) -> bool:
    """Pause a run with too few readable replies and questions left, unless somebody agreed.

    False if it may go on.
    """
    run = JudgeRun.objects.get(pk=run_id)
    known = answer_counts(run_id)
    if run.parameters.get(_ACCEPTED) or not is_too_few(known[_DONE], sum(known.values())):
        return False
    left = Judgment.everything.filter(run=run_id, state__in=Judgment.OPEN)
    if not left.exclude(attempts__outcome=Attempt.Outcome.SENT).exists():
        return False  # all that is left is being asked
    stop(run_id=run_id, state=JudgeRun.State.PAUSED, sentence=_words(known))
    return True


def _words(known: Counter[str]) -> str:
    answered = sum(known.values())
    readable = f"{known[_DONE]:,}" if known[_DONE] else "none"
    return (
        f"Paused, because of {answered:,} questions {readable} got a reply that can be read "
        f"({known[Judgment.State.UNPARSEABLE]:,} unparseable, {known[_REFUSED]:,} refused)."
    )


@dataclass(frozen=True)
class UnreadReplies:
    """Why a run has paused: some of its replies, and what to change."""

    replies: list["UnreadReply"]
    advice: str


@dataclass(frozen=True)
class UnreadReply:
    """The beginning of a reply about an item, on one line, and why it was not read."""

    key: str
    text: str
    error: str

    @classmethod
    def of(cls, judgment: Judgment) -> "UnreadReply":
        text = " ".join((judgment.reply_text or judgment.thoughts).split())
        if len(text) > _LONGEST:
            text = f"{text[:_LONGEST]}…"
        return cls(judgment.item.key, text or "(empty)", judgment.error)


def unread_of(run: JudgeRun) -> UnreadReplies | None:
    """The replies of a run that is paused because they cannot be read; None for any other run."""
    if run.state != JudgeRun.State.PAUSED or run.parameters.get(_ACCEPTED):
        return None
    known = answer_counts(run.pk)
    if not is_too_few(known[_DONE], sum(known.values())):
        return None
    is_refused = known[_REFUSED] > known[Judgment.State.UNPARSEABLE]
    state = _REFUSED if is_refused else Judgment.State.UNPARSEABLE
    unread = Judgment.objects.filter(run=run.pk, state=state).select_related("item").order_by("pk")
    replies = [UnreadReply.of(judgment) for judgment in unread[:SAMPLES]]
    return UnreadReplies(replies, _REFUSALS if is_refused else _UNREAD)


_REFUSALS = (
    "The model declines to judge. Use another model, or a wording of the study’s own that says "
    "what the judgments are for. Refused questions count as missing, not as wrong."
)
_UNREAD = (
    "If the replies answer in another form, ask for structured replies, or change the wording. If "
    "they are cut off or empty, add a judge with more tokens for replies and for thinking, or "
    "switch thinking off. If they answer something else, the model may be too small or the chat "
    "template of the server wrong."
)


@transaction.atomic
def accept_unread(run_id: int) -> None:
    """Let a run go on to its end, whatever its replies."""
    run = JudgeRun.objects.select_for_update(no_key=True).get(pk=run_id)
    run.parameters = run.parameters | {_ACCEPTED: True}
    run.save(update_fields=["parameters"])
