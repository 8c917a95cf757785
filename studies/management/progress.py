"""A progress bar for people at a terminal; silent in a pipe or a log."""

import time
from types import TracebackType
from typing import TextIO

_WIDTH = 30
_EVERY = 0.1


class ProgressBar:
    """Counts steps on `stream`, which is left clean when the work ends or fails.

    >>> import io
    >>> with ProgressBar(io.StringIO(), total=3) as bar:
    ...     bar.step()
    >>> bar.done
    1
    """

    def __init__(self, stream: TextIO, *, total: int, label: str = "") -> None:
        self.stream = stream
        self.total = total
        self.label = label
        self.done = 0
        self._shows = stream.isatty()
        self._next = 0.0

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shows:
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def step(self, count: int = 1) -> None:
        """Note `count` more steps; draws at most ten times a second."""
        self.done += count
        now = time.monotonic()
        if self._shows and now >= self._next:
            self._next = now + _EVERY
            share = min(1.0, self.done / self.total) if self.total else 0.0
            bar = "#" * round(share * _WIDTH)
            self.stream.write(
                f"\r\x1b[K{self.label} [{bar:<{_WIDTH}}] {self.done:,}/{self.total:,}"
            )
            self.stream.flush()
