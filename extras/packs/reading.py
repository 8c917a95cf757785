"""Reads raw replies to packs from any program, with the parser and ledger of all replies."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import django
from django.contrib.auth.models import User
from django.db import transaction

from extras.packs import raw_replies
from extras.packs.matching import match
from extras.packs.models import Pack
from extras.packs.packing import LEARNT, WITH_PACK, parameters_of
from extras.packs.raw_replies import RawReply
from extras.packs.requests import AnswerReader, ledger_rows, sent_parameters
from judging.backends.error_messages import error_body
from judging.backends.parameters import Adjustments
from judging.engine.interface import Parameters
from judging.models import Attempt, JudgeRun, Judgment
from judging.worker import run_states
from judging.worker.chunks import questions_of
from judging.worker.run_states import share_replies
from studies.importers.files.bundle import File, unpacked_size
from studies.importers.files.child import Send, from_child, is_needed
from studies.importers.files.faults import MAX_BYTES, MAX_ROW, Fault, Faults, Refused, refused
from studies.importers.files.lines import document
from studies.importers.files.packed import ZIPPED
from studies.services.studies import lock_study, record
from studies.statements import clock

KNOWN = (
    "Give output of a batch or of vllm run-batch (JSON Lines), a log of Inspect (.json or .eval), "
    "or results of promptfoo (JSON)."
)


def read_raw(file: File) -> Iterator[RawReply | Fault]:
    """Every reply of a file, and its faults. Raises `Refused` for an unknown format.

    A file that is not small is read in a child process.
    """
    size = file.size()
    if file.head().startswith(ZIPPED):
        with file.raw() as stream:
            size = unpacked_size(file.name, stream, size)
    if is_needed(size):
        yield from from_child(_send, file, name=file.name, size=size, prepare=django.setup)
    else:
        yield from _recognised(file)


def _send(send: Send, file: File) -> None:
    for found in _recognised(file):
        send(found)


def _recognised(file: File) -> Iterator[RawReply | Fault]:
    _check_size(file)
    head = file.head()
    if head.startswith(ZIPPED):
        yield from raw_replies.read_zipped(file)
        return
    line = _first_line(file)
    row = _object_in(line)
    if raw_replies.is_request(row):
        raise _refused(
            file,
            "these are the requests of a pack, not replies.",
            "Send them to a model first, and give the file that it writes.",
        )
    if raw_replies.is_batch_line(row) or (not row and b'"custom_id"' in line):
        yield from raw_replies.read_batch(file)
        return
    content = _document(file)
    if raw_replies.is_inspect_log(content):
        yield from raw_replies.read_log(file.name, content)
    elif raw_replies.is_promptfoo(content):
        yield from raw_replies.read_promptfoo(file.name, content)
    else:
        raise _refused(file, "the format of this file is unknown.", KNOWN)


def _first_line(file: File) -> bytes:
    with file.open() as stream:
        return stream.readline(MAX_ROW)


def _object_in(line: bytes) -> dict[str, Any]:
    """The object on a line; empty if the line is not a whole object."""
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def _document(file: File) -> Mapping[str, Any]:
    """A whole file of JSON. Raises `Refused`."""
    try:
        with file.open() as stream:
            found = document(stream)
    except UnicodeDecodeError:
        raise _refused(file, "the file is not UTF-8 text.", KNOWN) from None
    except RecursionError:
        raise _refused(file, "objects are nested too deep.", KNOWN) from None
    except json.JSONDecodeError as error:
        if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated"):
            message = f"the file ends in the middle of its JSON, on line {error.lineno}."
            raise _refused(file, message, "Copy the whole file again.") from None
        message = f"line {error.lineno} is not JSON ({error.msg})."
        raise _refused(file, message, KNOWN) from None
    except ValueError as error:
        raise _refused(file, f"the file cannot be read: {error}.", "Split it.") from None
    return found if isinstance(found, dict) else {}


def _check_size(file: File) -> None:
    size = sum(len(block) for block in file.blocks())
    if size > MAX_BYTES:
        message = f"the file is larger than {MAX_BYTES // 2**20} MB."
        raise _refused(file, message, "Split it and give the parts.")
    if not size:
        raise _refused(file, "the file is empty.", KNOWN)


def _refused(file: File, message: str, remedy: str) -> Refused:
    return refused(file.name, message, remedy)


_PORTION = 1_000
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
    run: str = "",
    user: User | None = None,
    on_stored: OnStored = lambda done, total: None,
) -> RawImport:
    """Store the replies of all files or none; a second import changes nothing.

    `run` is the public id of the run of replies that do not name their request. Raises `Refused`
    with every fault of the files.
    """
    replies, faults = _read(files)
    if faults:
        raise Refused(faults)
    with transaction.atomic():
        study = lock_study(study_id)
        matched = match(study, replies, run=run)
        if matched.faults:
            raise Refused(matched.faults)
        readings = [_Reading(each, matched.new) for each in _runs_of(list(matched.new))]
        done = 0
        for reading in readings:
            for count in reading.store():
                done += count
                on_stored(done, len(matched.new))
        for reading in readings:
            reading.end()
        if readings:
            record(
                study,
                "replies imported",
                user=user,
                runs=[reading.run.public_id for reading in readings],
                new=len(matched.new),
            )
    return RawImport(
        runs=tuple(reading.run.public_id for reading in readings),
        decided=sum(reading.decided for reading in readings),
        again=sum(reading.again for reading in readings),
        known=matched.known,
        missing=sum(reading.missing for reading in readings),
    )


def _read(files: Sequence[File]) -> tuple[list[RawReply], Faults]:
    replies: list[RawReply] = []
    faults = Faults()
    for file in files:
        there = len(replies) + len(faults)
        for found in read_raw(file):
            if isinstance(found, Fault):
                faults.append(found)
            else:
                replies.append(found)
        if len(replies) + len(faults) == there:
            faults.append(
                Fault(
                    None,
                    "",
                    "no replies",
                    "the file has no replies.",
                    "Give the file that the model’s replies were written to.",
                    file=file.name,
                )
            )
    return replies, faults


def _runs_of(judgment_ids: list[int]) -> list[JudgeRun]:
    runs: set[int] = set()
    for start in range(0, len(judgment_ids), _PORTION):
        some = Judgment.objects.filter(pk__in=judgment_ids[start : start + _PORTION])
        runs |= set(some.order_by().values_list("run", flat=True).distinct())
    return list(JudgeRun.objects.select_related("judge", "study").filter(pk__in=runs))


class _Reading:
    """Stores the replies to the packs of one run."""

    def __init__(self, run: JudgeRun, replies: dict[int, RawReply]) -> None:
        self.run = run
        self._replies = replies
        self._adjustments = Adjustments(parameters_of(run))
        self._packs = {pack.public_id: pack for pack in run.packs.filter(state=Pack.State.WAITING)}
        self.decided = self.again = self.missing = 0
        self._stop_with = ""

    def store(self) -> Iterator[int]:
        """Store all replies in portions; yield how many."""
        last = 0
        leased = Judgment.objects.filter(run=self.run, lease__in=self._packs, state="leased")
        while some := list(
            leased.filter(pk__gt=last).select_related("item__persona").order_by("pk")[:_PORTION]
        ):
            last = some[-1].pk
            if new := [judgment for judgment in some if judgment.pk in self._replies]:
                self._store(new)
                yield len(new)

    def _store(self, judgments: list[Judgment]) -> None:
        asked_with = {judgment.pk: judgment.prompt_sha256 for judgment in judgments}
        questions = {each.id: each for each in questions_of(self.run, judgments)}
        changed = [j for j in judgments if j.prompt_sha256 != asked_with[j.pk]]
        if changed:
            raise Refused(_changed_since(self._replies[judgment.pk]) for judgment in changed)
        sent = sent_parameters(questions.values())
        by_pack: dict[str, list[Judgment]] = defaultdict(list)
        for judgment in judgments:
            by_pack[judgment.lease].append(judgment)
        for lease, members in by_pack.items():
            rows = ledger_rows(self.run, lease, members)
            # It is unknown when its requests were sent.
            reader = AnswerReader(self.run, rows, sent, sent_at=None, learn=self._learn)
            for judgment in members:
                line = self._replies[judgment.pk].as_batch_line()
                reader.read(questions[judgment.pk], line)
            reader.flush()
            self.decided += reader.answered
            self.again += reader.to_ask_again
            self._stop_with = self._stop_with or reader.stop_with
        run_states.release(Judgment.objects.filter(pk__in=list(questions)))

    def _learn(self, error: str, sent: Parameters) -> bool:
        return self._adjustments.learn(error_body(error), sent)

    def end(self) -> None:
        """Close the packs that have all their replies, and note the state of the run."""
        for pack in self._packs.values():
            held = Judgment.objects.filter(
                lease=pack.public_id,
                state=Judgment.State.LEASED,
                attempts__outcome=Attempt.Outcome.SENT,
            )
            left = held.count()
            self.missing += left
            same = Pack.objects.filter(pk=pack.pk)
            same.update(answered=pack.requests - left)
            if not left:
                # Somebody may have discarded it while its replies were being read.
                same.filter(state=Pack.State.WAITING).update(
                    state=Pack.State.READ,
                    ended_at=clock.now(),
                    sentence=f"All {pack.requests:,} replies have been read.",
                )
        self._note_parameters()
        self._settle()

    def _note_parameters(self) -> None:
        """Leave out parameters in the next pack that the server refused in this one."""
        known, found = parameters_of(self.run), self._adjustments.current
        if found.sha256 != known.sha256:
            self.run.parameters = self.run.parameters | {LEARNT: dict(found.values)}
            self.run.save(update_fields=["parameters"])

    def _settle(self) -> None:
        share_replies(self.run.pk)
        resting = JudgeRun.objects.filter(pk=self.run.pk, state__in=JudgeRun.RESUMABLE)
        open_ones = self.run.judgments.filter(state__in=Judgment.OPEN)
        if not open_ones.exists():
            resting.update(state=JudgeRun.State.RUNNING, sentence="", ended_at=None)
            run_states.end_if_done(run_id=self.run.pk)
        elif self._stop_with:
            resting.update(sentence=self._stop_with)
        elif self.missing:
            resting.update(sentence=WITH_PACK)
        else:
            resting.update(sentence=STILL_OPEN.format(count=f"{open_ones.count():,}"))


def _changed_since(reply: RawReply) -> Fault:
    return reply.fault(
        "another prompt",
        "the item or its prompt has changed since the pack was written.",
        "Write a new pack. Replies to the old one cannot be used.",
        value=reply.custom_id,
    )
