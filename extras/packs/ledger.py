"""Questions of a pack in the ledger: leased, opened with their maximum cost, closed by replies.

Every request is in the ledger before its file exists. Its judgment is leased to the pack, so that
no worker asks it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from math import ceil, inf

from extras.packs.lines import MAX_BYTES, CustomId, RawReply, request_line
from extras.packs.models import Pack
from judging.backends.parameters import request_body
from judging.engine.asker import MAX_OWN_FAULTS, is_last_reply, read_answer, seed_of
from judging.engine.interface import (
    AttemptEnd,
    BackendFault,
    JudgeAnswer,
    JudgeQuestion,
    Misconfigured,
    NoAccess,
    Parameters,
    Rejected,
)
from judging.engine.messages import Message, prompt_sha256
from judging.errors import BadRun
from judging.models import Attempt, JudgeRun, Judgment, SentParameters
from judging.selectors import has_replies
from judging.worker import chunks, run_states
from judging.worker.budgets import Room, room_of
from judging.worker.chunks import questions_of
from judging.worker.ledger import Closing, LedgerRows, Opening
from judging.worker.ledger_statements import apply
from studies.statements import clock

PORTION = 1_000  # of the questions that are held in memory
ROWS = 200  # committed together
NO_ROOM = (
    "The remaining budget is too low for a request of a pack. Raise or remove the budget of the "
    "run."
)
_LEASE = timedelta(days=365 * 100)  # until the replies have been read or the pack is discarded


def lease_questions(
    run: JudgeRun, pack: Pack, parameters: Parameters, *, most: int, is_one_file: bool = False
) -> int:
    """Lease waiting questions of a run to a pack, and open their requests in the ledger.

    Returns how many the budgets, and the pack if it `is_one_file`, have room for; the others wait
    again. Raises `BadRun` if the run was stopped: the caller's transaction has to be rolled back.
    """
    until = clock.now() + _LEASE
    judgments = chunks.claim(run, pack.public_id, most=most, until=until)
    questions = questions_of(run, judgments)
    if is_one_file:
        questions = questions[: _count_in_one_file(questions, parameters)]
    rows = _rows_of(run, pack, judgments)
    openings = [rows.opening(one, one.attempts + 1, parameters) for one in questions]
    openings = openings[: _count_in_budget(openings, room_of(run.pk))]
    if store_rows(openings):
        raise BadRun(NO_ROOM)
    left = [judgment.pk for judgment in judgments[len(openings) :]]
    run_states.release(Judgment.objects.filter(pk__in=left, lease=pack.public_id))
    pack.requests += len(openings)
    pack.most_nano += sum(opening.most_nano or 0 for opening in openings)
    pack.most_tokens += sum(opening.most.total for opening in openings)
    return len(openings)


def is_anything_waiting(run: JudgeRun) -> bool:
    """Whether questions of a run are neither asked nor in a pack."""
    waiting = run_states.in_order(run.pk, Judgment.State.PENDING).filter(asked_with=None)
    return waiting.only("pk").first() is not None


def _rows_of(run: JudgeRun, pack: Pack, judgments: Iterable[Judgment]) -> LedgerRows:
    sides = {judgment.pk: judgment.shown_first for judgment in judgments}
    return LedgerRows(run, pack.public_id, sides, price_share=run.judge.batch_price)


def store_rows(rows: Sequence[Opening | Closing]) -> bool:
    """Store rows; return whether any of them was refused."""
    refused = False
    for start in range(0, len(rows), ROWS):
        refused |= any(apply(rows[start : start + ROWS]))
    return refused


def _count_in_budget(openings: Sequence[Opening], room: Room) -> int:
    """How many requests fit into the budgets at their maximum cost."""
    nano = inf if room.nano is None else room.nano
    tokens = inf if room.tokens is None else room.tokens
    for number, opening in enumerate(openings):
        # An unknown cost is not zero.
        if opening.most_nano is None and room.nano is not None:
            return number
        nano -= opening.most_nano or 0
        tokens -= opening.most.total
        if nano < 0 or tokens < 0:
            return number
    return len(openings)


def _count_in_one_file(questions: Sequence[JudgeQuestion], parameters: Parameters) -> int:
    """How many questions fit into a file; at least one, however long."""
    room = MAX_BYTES
    for number, question in enumerate(questions):
        room -= length_of(question, parameters)
        if room < 0 and number:
            return number
    return len(questions)


def length_of(question: JudgeQuestion, parameters: Parameters) -> int:
    """The length of a line in bytes, without reading its pictures and sounds."""

    def without_bytes(message: Message) -> Message:
        return replace(
            message, media=tuple(replace(medium, load=bytes) for medium in message.media)
        )

    messages = tuple(without_bytes(message) for message in question.messages)
    line = line_of("x" * 64, replace(question, messages=messages), parameters)
    media = (medium for message in question.asking for medium in message.media)
    return len(line) + sum(4 * ceil(medium.size / 3) for medium in media)


def line_of(name: str, question: JudgeQuestion, parameters: Parameters) -> bytes:
    return request_line(name, request_body(parameters.values, question, seed=seed_of(question)))


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A request of a pack without a reply, as the ledger says that it is sent."""

    judgment: Judgment
    question: JudgeQuestion
    parameters: Parameters
    name: CustomId

    @property
    def line(self) -> bytes:
        return line_of(str(self.name), self.question, self.parameters)

    @property
    def seed(self) -> int | None:
        """The seed in its body, if that has one."""
        return seed_of(self.question) if "seed" in self.parameters.values else None


def open_requests(
    run: JudgeRun, pack: Pack, *, among: Collection[int] | None = None
) -> Iterator[list[OpenRequest]]:
    """The requests of a pack without a reply in portions, all or those `among` some judgments.

    Questions that were read before a crash and have to be asked again are none: they are counted.
    """
    held = Judgment.objects.filter(
        lease=pack.public_id,
        state=Judgment.State.LEASED,
        attempts__outcome=Attempt.Outcome.SENT,
    )
    last = 0
    while some := list(
        held.filter(pk__gt=last).select_related("item__persona").order_by("pk")[:PORTION]
    ):
        last = some[-1].pk
        wanted = [one for one in some if among is None or one.pk in among]
        questions = questions_of(run, wanted)
        sent = sent_parameters(questions)
        yield [
            OpenRequest(
                judgment=judgment,
                question=question,
                parameters=sent[question.id],
                name=CustomId.of(
                    run=run.public_id,
                    judgment=question.id,
                    attempt=question.attempts,
                    prompt_sha256=prompt_sha256(question.messages),
                ),
            )
            for judgment, question in zip(wanted, questions, strict=True)
        ]


def sent_parameters(questions: Iterable[JudgeQuestion]) -> dict[int, Parameters]:
    """The parameters of the last attempt of each question, nearly always equal."""
    last = {question.id: question.attempts for question in questions}
    attempts = Attempt.objects.filter(judgment__in=last).exclude(sent_with=None)
    rows = attempts.values_list("judgment", "number", "sent_with__sha256")
    hashes = {judgment: sha256 for judgment, number, sha256 in rows if number == last[judgment]}
    known = SentParameters.objects.filter(sha256__in=set(hashes.values()))
    parameters = {row.sha256: Parameters(row.parameters) for row in known}
    return {judgment: parameters[sha256] for judgment, sha256 in hashes.items()}


def close_open(run: JudgeRun, pack: Pack, end: AttemptEnd) -> int:
    """End the requests of a pack that have no reply; return how many."""
    closed = 0
    for requests in open_requests(run, pack):
        rows = _rows_of(run, pack, [request.judgment for request in requests])
        questions = [request.question for request in requests]
        store_rows([rows.closing(q, q.attempts, end, q.replies, None) for q in questions])
        closed += len(requests)
    run_states.release(Judgment.objects.filter(lease=pack.public_id))
    return closed


def end_pack(pack: Pack, state: str, sentence: str) -> None:
    same = Pack.objects.filter(pk=pack.pk)
    same.update(state=state, sentence=sentence, ended_at=clock.now())


# Whether asking again may help after an error of a request with these parameters.
Learn = Callable[[str, Parameters], bool]


class ReplyStore:
    """Stores raw replies to a run's packs as if they had come over the network."""

    def __init__(self, run: JudgeRun, *, learn: Learn) -> None:
        self.decided = self.again = 0
        self._run, self._learn = run, learn
        self._no_access = self._misconfigured = ""
        self._has_replies = has_replies(run.pk)

    @property
    def stop_with(self) -> str:
        """Why the run must stop; empty if it can continue."""
        return self._no_access or ("" if self._has_replies else self._misconfigured)

    def store(
        self,
        pack: Pack,
        replies: Mapping[int, RawReply],
        *,
        check: Callable[[OpenRequest, RawReply], None] = lambda request, reply: None,
        on_stored: Callable[[int], object] = lambda count: None,
    ) -> None:
        """Store replies by judgment, and let questions without an answer wait again.

        `check` raises an exception for a reply that must not be stored.
        """
        milliseconds = None  # nobody knows when a pack was sent
        if pack.submitted_at is not None:
            milliseconds = int((clock.now() - pack.submitted_at).total_seconds() * 1000)
        for requests in open_requests(self._run, pack, among=replies):
            rows = _rows_of(self._run, pack, [request.judgment for request in requests])
            closings = []
            for request in requests:
                question, reply = request.question, replies[request.question.id]
                check(request, reply)
                end, count, answer = self._read(request, reply)
                self.decided += answer is not None
                self.again += answer is None
                end = replace(end, latency_ms=milliseconds)
                closings.append(rows.closing(question, question.attempts, end, count, answer))
            store_rows(closings)
            asked = [request.judgment.pk for request in requests]
            run_states.release(Judgment.objects.filter(pk__in=asked, lease=pack.public_id))
            on_stored(len(requests))

    def _read(
        self, request: OpenRequest, raw: RawReply
    ) -> tuple[AttemptEnd, int, JudgeAnswer | None]:
        """How the attempt ended, the number of replies now, and the answer if there is one."""
        question = request.question
        try:
            is_structured = "response_format" in request.parameters.values
            reply = raw.read(question, is_structured=is_structured)
        except BackendFault as fault:
            end = AttemptEnd(
                "expired" if raw.expired else fault.outcome,
                None,
                status=fault.status,
                error=str(fault),
                usage=fault.usage,
                maybe_billed=fault.maybe_billed,
            )
            answer = None if raw.expired else self._answer_to(fault, request, raw)
            return end, question.replies, answer
        self._has_replies = True
        replies = question.replies + 1
        read = read_answer(question, reply, is_last=is_last_reply(reply, replies))
        end = AttemptEnd(
            "replied",
            None,
            status=raw.status,
            usage=reply.usage,
            maybe_billed=reply.usage is None,
            text=reply.text,
            request_id=reply.request_id,
        )
        # Questions with several steps are in no pack.
        return end, replies, None if isinstance(read, JudgeQuestion) else read

    def _answer_to(
        self, fault: BackendFault, request: OpenRequest, raw: RawReply
    ) -> JudgeAnswer | None:
        """The end of a question that the server refuses; None if it is asked again."""
        question = request.question
        if isinstance(fault, NoAccess):
            self._no_access = str(fault)
            return None
        if isinstance(fault, Misconfigured):
            # As long as others are answered, the fault is the question's, whatever it says.
            if self._has_replies:
                return JudgeAnswer("error", error=str(fault))
            self._misconfigured = self._misconfigured or str(fault)
            return None
        if isinstance(fault, Rejected):
            if self._learn(raw.content, request.parameters):
                return None
            return JudgeAnswer("error", error=str(fault))
        if question.attempts - question.replies >= MAX_OWN_FAULTS:
            return JudgeAnswer("error", error=f"{MAX_OWN_FAULTS} requests failed: {fault}")
        return None
