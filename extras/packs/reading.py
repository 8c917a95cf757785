"""Reads files of raw replies to packs: all of them or none, and foreign replies are refused."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db import transaction

from extras.packs.ledger import PORTION, OpenRequest, ReplyStore
from extras.packs.lines import CustomId, RawReply, read_file
from extras.packs.models import Pack
from extras.packs.packing import LEARNT, WITH_PACK, parameters_of
from judging.backends.error_messages import error_body
from judging.backends.parameters import Adjustments
from judging.engine.interface import BackendFault, JudgeQuestion
from judging.models import Attempt, JudgeRun, Judgment
from judging.protocols.registry import protocol
from judging.worker import run_states
from judging.worker.run_states import share_replies
from studies.importers.files.bundle import File
from studies.importers.files.faults import Fault, Faults, Refused
from studies.models import Study
from studies.services.studies import lock_study, record
from studies.statements import clock

STILL_OPEN = (
    "{count} of its questions have no readable reply yet. Write another pack, or resume the run to "
    "ask them here."
)
OnStored = Callable[[int, int], None]  # called with the number of stored replies, and of all


@dataclass(frozen=True)
class RawImport:
    """The result of an import. `missing` requests of the packs have no reply yet."""

    runs: tuple[str, ...]
    decided: int
    again: int
    known: int
    missing: int

    def __str__(self) -> str:
        new = self.decided + self.again
        parts = [f"Read {new:,} new {_replies(new)}: {self.decided:,} decided a judgment."]
        if not new:
            parts = ["There are no new replies."]
        if self.again:
            parts.append(f"{self.again:,} did not, so their questions are open again.")
        if self.known:
            parts.append(f"{self.known:,} {_replies(self.known)} had been imported before.")
        if self.missing:
            parts.append(f"{self.missing:,} requests have no reply yet.")
        return " ".join(parts)


def _replies(count: int) -> str:
    return "reply" if count == 1 else "replies"


def import_raw(
    *,
    study_id: int,
    files: Sequence[File],
    user: User | None = None,
    on_stored: OnStored = lambda done, total: None,
) -> RawImport:
    """Store the replies of all files or none; a second import changes nothing.

    Raises `Refused` with every fault of the files.
    """
    replies = _read(files)
    stored: dict[str, _StoredCounts] = {}
    done = 0

    def note(count: int) -> None:
        nonlocal done
        done += count
        on_stored(done, len(new))

    with transaction.atomic():
        study = lock_study(study_id)
        new, known = _matched(study, replies)
        for run in _runs_of(list(new)):
            stored[run.public_id] = _store(run, new, note)
        if stored:
            record(study, "replies imported", user=user, runs=[*stored], new=len(new))
    return RawImport(
        runs=tuple(stored),
        decided=sum(run.decided for run in stored.values()),
        again=sum(run.again for run in stored.values()),
        known=known,
        missing=sum(run.missing for run in stored.values()),
    )


def _read(files: Sequence[File]) -> list[RawReply]:
    """Every reply of the files. Raises `Refused`."""
    replies: list[RawReply] = []
    faults = Faults()
    for file in files:
        for line in read_file(file):
            if isinstance(line, Fault):
                faults.append(line)
            else:
                replies.append(line)
    if faults:
        raise Refused(faults)
    return replies


class _Asked(NamedTuple):
    """A request of a pack in the ledger, with its judgment."""

    judgment: int
    number: int
    run: str
    prompt_sha256: str
    setting: str
    outcome: str
    text: str
    parameters: Mapping[str, Any] | None
    state: str
    lease: str

    def has_exactly(self, reply: RawReply) -> bool:
        question = JudgeQuestion(
            id=self.judgment, messages=(), protocol=protocol(self.setting), seed=0
        )
        try:
            is_structured = "response_format" in (self.parameters or {})
            read = reply.read(question, is_structured=is_structured)
        except BackendFault as fault:
            return self.outcome == ("expired" if reply.expired else fault.outcome)
        return self.outcome == Attempt.Outcome.REPLIED and self.text == read.text


_COLUMNS = (
    "judgment",
    "number",
    "judgment__run__public_id",
    "judgment__prompt_sha256",
    "judgment__run__setting",
    "outcome",
    "text",
    "sent_with__parameters",
    "judgment__state",
    "judgment__lease",
)


def _matched(study: Study, replies: Sequence[RawReply]) -> tuple[dict[int, RawReply], int]:
    """The new replies to requests of the study's packs by judgment, and the number of known ones.

    Raises `Refused` with every reply that is to no such request.
    """
    packs = Pack.objects.filter(run__study=study, is_batch=False)
    waiting = set(packs.filter(state=Pack.State.WAITING).values_list("public_id", flat=True))
    named = [(reply, CustomId.read(reply.custom_id)) for reply in replies]
    ids = sorted({name.judgment for _, name in named if name})
    asked: dict[tuple[int, int], _Asked] = {}
    for start in range(0, len(ids), PORTION):
        some = Attempt.objects.filter(
            judgment__in=ids[start : start + PORTION], judgment__run__in=packs.values("run")
        )
        rows = map(_Asked._make, some.values_list(*_COLUMNS))
        asked |= {(row.judgment, row.number): row for row in rows}
    seen: dict[CustomId, RawReply] = {}
    new: dict[int, RawReply] = {}
    known, faults = 0, Faults()
    for reply, name in named:
        row = asked.get((name.judgment, name.attempt)) if name else None
        if name is None or row is None or row.run != name.run:
            faults.append(reply.fault(*_FOREIGN, about=reply.custom_id[:80]))
            continue
        if first := seen.get(name):
            file = "" if first.file == reply.file else f" of {first.file}"
            faults.append(reply.fault(*_DOUBLED, about=f"Line {first.line}{file}"))
            continue
        seen[name] = reply
        if not name.is_about(row.prompt_sha256):
            faults.append(reply.fault(*_OTHER_PROMPT))
        elif row.lease in waiting and row.outcome == Attempt.Outcome.SENT:
            new[row.judgment] = reply
        elif row.has_exactly(reply):
            known += 1
        else:
            is_over = row.outcome == Attempt.Outcome.EXPIRED
            faults.append(reply.fault(*(_DISCARDED if is_over else _OTHER_REPLY)))
    if faults:
        raise Refused(faults)
    return new, known


# Rule, message and remedy.
_FOREIGN = (
    "not of this study",
    "“{about}” is not the name of a request of a pack of this study.",
    "Import the reply into the study that wrote the pack, and keep custom_id unchanged.",
)
_DOUBLED = (
    "doubled reply",
    "there is an earlier reply to the same request at {about}.",
    "Keep one of them: if they differ, the one that was written first.",
)
_OTHER_PROMPT = (
    "another prompt",
    "the reply is to a different prompt than the pack's request.",
    "Send the pack's requests unchanged. If the study has changed since, write a new pack.",
)
_DISCARDED = (
    "discarded pack",
    "its pack was discarded, or the batch expired before it was answered.",
    "Leave the reply out. Write a new pack if the question is still open.",
)
_OTHER_REPLY = (
    "another reply",
    "this request already has a different reply.",
    "Leave this reply out. The first imported one counts.",
)
_CHANGED = (
    "another prompt",
    "the item or its prompt has changed since the pack was written.",
    "Write a new pack. Replies to the old one cannot be used.",
)


def _runs_of(judgments: list[int]) -> list[JudgeRun]:
    runs: set[int] = set()
    for start in range(0, len(judgments), PORTION):
        some = Judgment.objects.filter(pk__in=judgments[start : start + PORTION])
        runs |= set(some.order_by().values_list("run", flat=True).distinct())
    return list(JudgeRun.objects.select_related("judge", "study").filter(pk__in=runs))


class _StoredCounts(NamedTuple):
    decided: int
    again: int
    missing: int


def _store(
    run: JudgeRun, replies: Mapping[int, RawReply], on_stored: Callable[[int], None]
) -> _StoredCounts:
    """Store the replies to the packs of one run, and note the state of packs and run."""
    known = parameters_of(run)
    adjustments = Adjustments(known)
    store = ReplyStore(run, learn=lambda error, sent: adjustments.learn(error_body(error), sent))
    missing = 0
    for pack in run.packs.filter(is_batch=False, state=Pack.State.WAITING):
        store.store(pack, replies, check=_check_prompt, on_stored=on_stored)
        left = Judgment.objects.filter(lease=pack.public_id, state=Judgment.State.LEASED).count()
        missing += left
        pack.answered = pack.requests - left
        if not left:
            pack.state, pack.ended_at = Pack.State.READ, clock.now()
            pack.sentence = f"All {pack.requests:,} replies have been read."
        pack.save()
    if adjustments.current.sha256 != known.sha256:
        # The next pack leaves out what the server refused in this one.
        run.parameters = run.parameters | {LEARNT: dict(adjustments.current.values)}
        run.save(update_fields=["parameters"])
    share_replies(run.pk)
    resting = JudgeRun.objects.filter(pk=run.pk, state__in=JudgeRun.RESUMABLE)
    open_ones = run.judgments.filter(state__in=Judgment.OPEN)
    if not open_ones.exists():
        resting.update(state=JudgeRun.State.RUNNING, sentence="", ended_at=None)
        run_states.end_if_done(run_id=run.pk)
    elif store.stop_with:
        resting.update(sentence=store.stop_with)
    elif missing:
        resting.update(sentence=WITH_PACK)
    else:
        resting.update(sentence=STILL_OPEN.format(count=f"{open_ones.count():,}"))
    return _StoredCounts(store.decided, store.again, missing)


def _check_prompt(request: OpenRequest, reply: RawReply) -> None:
    if str(request.name) != reply.custom_id:
        raise Refused([reply.fault(*_CHANGED)])
