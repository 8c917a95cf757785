"""What else sees runs and requests while workers ask, such as a tracer; extras add to `MORE`."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Protocol

from judging.engine.interface import RequestWatch
from studies.extra import Kind

if TYPE_CHECKING:
    from judging.models import JudgeRun


class RunWatcher(Protocol):
    """It must not raise, and sees requests from the thread of the engine's loop."""

    @property
    def name(self) -> str: ...

    def chunk(self, run: "JudgeRun") -> "AbstractContextManager[RequestWatch | None]":
        """Entered while a worker asks some questions of a run; None watches no request."""


MORE: Kind[RunWatcher] = Kind("runs", "observers")


@contextmanager
def watched(run: "JudgeRun") -> Iterator[list[RequestWatch]]:
    with ExitStack() as stack:
        watches = [stack.enter_context(watcher.chunk(run)) for watcher in MORE]
        yield [watch for watch in watches if watch is not None]
