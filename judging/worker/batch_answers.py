"""Results of a batch, or of other files: lines of its files as rows of the ledger."""

from collections.abc import Callable, Mapping
from datetime import datetime

from judging.backends.batch import BatchLine
from judging.engine.asking import MAX_OWN_FAULTS, is_last_reply, read_answer
from judging.engine.interface import (
    AttemptEnd,
    BackendFault,
    JudgeAnswer,
    JudgeQuestion,
    LearningBackend,
    Misconfigured,
    NoAccess,
    Parameters,
    Rejected,
)
from judging.models import JudgeRun
from judging.selectors import has_replies
from judging.worker import batch_requests, runtime
from judging.worker.records import ledger
from studies.statements import clock

# Whether asking again may help after an error about a request with these parameters.
Learn = Callable[[str, Parameters], bool]


class AnswerReader:
    """Turns lines of a batch into rows of the ledger, and stores them as they come.

    `sent_at` is None if nobody knows it. `learn` is told of every refused request; by default the
    judge's backend is.
    """

    def __init__(
        self,
        run: JudgeRun,
        rows: ledger.LedgerRows,
        sent_with: Mapping[int, Parameters],
        *,
        sent_at: datetime | None,
        learn: Learn | None = None,
    ) -> None:
        self._judge = run.judge
        self._learn = learn or self._tell_backend
        self._sent_with = sent_with
        self._rows = rows
        self._milliseconds: int | None = None
        if sent_at is not None:
            self._milliseconds = int((clock.now() - sent_at).total_seconds() * 1000)
        self._closings: list[ledger.Closing] = []
        self._answered = self._again = 0
        self._no_access = self._misconfigured = ""
        self._has_replies = has_replies(run.pk)

    def read(self, question: JudgeQuestion, line: BatchLine) -> None:
        replies, answer = question.replies, None
        try:
            sent = self._sent_with[question.id]
            reply = line.read(question, is_structured="response_format" in sent.values)
        except BackendFault as fault:
            outcome = "expired" if line.expired else fault.outcome
            end = AttemptEnd(
                outcome,
                self._milliseconds,
                status=fault.status,
                error=str(fault),
                maybe_billed=fault.maybe_billed,
            )
            answer = None if line.expired else self._verdict(question, fault, line)
        else:
            replies += 1
            self._has_replies = True
            read = read_answer(question, reply, is_last=is_last_reply(reply, replies))
            # Questions of several steps are not asked by batch.
            answer = None if isinstance(read, JudgeQuestion) else read
            end = AttemptEnd(
                "replied",
                self._milliseconds,
                status=line.status,
                usage=reply.usage,
                maybe_billed=reply.usage is None,
                text=reply.text,
                request_id=reply.request_id,
            )
        self._close(question, end, replies, answer)

    def miss(self, question: JudgeQuestion, *, is_billed: bool) -> None:
        """Record a missing line: unanswered if the batch expired or was cancelled, else lost."""
        end = AttemptEnd(
            "lost" if is_billed else "expired",
            self._milliseconds,
            maybe_billed=is_billed,
            error="The batch ended without a word about this request.",
        )
        self._close(question, end, question.replies, None)

    def _verdict(
        self, question: JudgeQuestion, fault: BackendFault, line: BatchLine
    ) -> JudgeAnswer | None:
        """The end of a question that the server refuses; None if it is asked again."""
        if isinstance(fault, NoAccess):
            self._no_access = str(fault)
            return None
        if isinstance(fault, Misconfigured):
            # As long as others are answered, it concerns the question, whatever it says.
            if self._has_replies:
                return JudgeAnswer("error", error=str(fault))
            self._misconfigured = self._misconfigured or str(fault)
            return None
        if isinstance(fault, Rejected):
            if self._learn(line.content, self._sent_with[question.id]):
                return None
            return JudgeAnswer("error", error=str(fault))
        if question.attempts - question.replies >= MAX_OWN_FAULTS:
            return JudgeAnswer("error", error=f"{MAX_OWN_FAULTS} requests failed: {fault}")
        return None

    def _tell_backend(self, error: str, sent: Parameters) -> bool:
        backend = runtime.backend_of(self._judge)
        return isinstance(backend, LearningBackend) and backend.learn(error, sent)

    def _close(
        self, question: JudgeQuestion, end: AttemptEnd, replies: int, answer: JudgeAnswer | None
    ) -> None:
        self._answered += answer is not None
        self._again += answer is None
        self._closings.append(self._rows.closing(question, question.attempts, end, replies, answer))
        if len(self._closings) >= batch_requests.ROWS:
            self.flush()

    def flush(self) -> None:
        batch_requests.store(self._closings)
        self._closings = []

    @property
    def stop_with(self) -> str:
        """Why the run must stop; empty if it can go on."""
        return self._no_access or ("" if self._has_replies else self._misconfigured)

    @property
    def answered(self) -> int:
        return self._answered

    @property
    def to_ask_again(self) -> int:
        return self._again

    def words(self, ended: str) -> str:
        again = f", {self._again:,} to be asked again" if self._again else ""
        return f"{ended.capitalize()}: {self._answered:,} decided{again}."
