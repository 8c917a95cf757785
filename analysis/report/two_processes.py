"""Compute and write a large report in two processes; the results are those of one.

The second process is a copy of this one, so it has the data without reading them. Sections do not
read each other here, and both processes take the next one from a pipe until none is left.
"""

import logging
import os
import pickle
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import IO, NoReturn

from analysis.report.encode import Json
from analysis.report.section import Section

logger = logging.getLogger(__name__)

# Fewer answers and judgments than this take less time than a second process saves.
LARGE = 50_000
# The second process has as long for its last section as everything took, and at least this.
PATIENCE_SECONDS = 30.0
MOST_SECTIONS = 255  # a place in the pipe is one byte

Compute = Callable[[Section], Json]


def is_large(n_answers: int) -> bool:
    """Whether a report of so many answers and judgments is computed in two processes."""
    # Copying a process is not safe with the system libraries of other operating systems.
    return n_answers >= LARGE and sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1


def computed(sections: Sequence[Section], *, here: Compute, there: Compute) -> list[Json]:
    """The results of `sections`, in their order, in two processes.

    `here` computes a section in this process, and what it raises ends both. `there` computes it in
    the other one and must need nothing but memory. What the second process does not deliver,
    because it fails, is killed or does not answer, is computed here, where an error is raised.
    """
    moving = [section for section in sections if section.turn == "any"]
    # Both processes end at about the same time if the last turns are short.
    moving = sorted(moving, key=lambda section: not section.is_long)[:MOST_SECTIONS]
    staying = [section for section in sections if section not in moving]
    last = [section for section in staying if section.turn == "last"]
    first = [section for section in staying if section not in last]
    found: dict[str, Json] = {}
    with _turns(moving) as turns, tempfile.TemporaryFile() as results:
        kept = (turns.pipe, results.fileno())
        with _second_process(
            partial(_take_turns, os.getpid(), turns, results, there), kept
        ) as wait:
            for section in chain(first, turns, last):
                found[section.name] = here(section)
            wait()
        found |= _delivered(results)
    missing = [section for section in moving if section.name not in found]
    if missing:
        logger.warning("The second process of a report did not compute %s sections.", len(missing))
    found |= {section.name: here(section) for section in missing}
    return [found[section.name] for section in sections]


@contextmanager
def meanwhile(write: Callable[[], None]) -> Iterator[None]:
    """Let a second process `write` files during the block.

    It must need nothing but memory and what it opens itself. If it fails, is killed or does not
    end, this process does the same after the block, where an error is raised.
    """
    with _second_process(write, ()) as wait:
        yield
        is_written = wait()
    if not is_written:
        logger.warning("The second process of a report did not write its files.")
        write()


class _Turns:
    """The sections that no process has taken yet."""

    def __init__(self, sections: Sequence[Section], pipe: int) -> None:
        self._sections = sections
        self.pipe = pipe

    def __iter__(self) -> Iterator[Section]:
        while place := os.read(self.pipe, 1):
            yield self._sections[place[0]]


@contextmanager
def _turns(sections: Sequence[Section]) -> Iterator[_Turns]:
    reading, writing = os.pipe()
    try:
        try:
            os.write(writing, bytes(range(len(sections))))
        finally:
            # The end of the pipe is the end of the work.
            os.close(writing)
        yield _Turns(sections, reading)
    finally:
        os.close(reading)


@contextmanager
def _second_process(work: Callable[[], None], kept: Sequence[int]) -> Iterator[Callable[[], bool]]:
    """Start the second process with `work` and the open files `kept`; it ends with the block.

    Yields what waits for its end and says whether it has done its work. It gets as much time as
    everything took until then, and at least `PATIENCE_SECONDS`.
    """
    began = time.monotonic()
    with warnings.catch_warnings():
        # Other threads do not exist in the copy, which waits for none of them: it only computes.
        warnings.simplefilter("ignore", DeprecationWarning)
        them = os.fork()
    if not them:
        _work(work, kept)
    code: int | None = None

    def wait() -> bool:
        nonlocal code
        limit = time.monotonic() + max(PATIENCE_SECONDS, time.monotonic() - began)
        while code is None and time.monotonic() < limit:
            code = _exit_code(them)
            if code is None:
                time.sleep(0.01)
        return code == 0

    try:
        yield wait
    finally:
        if code is None and _exit_code(them) is None:
            os.kill(them, signal.SIGKILL)
            os.waitpid(them, 0)


def _exit_code(process: int) -> int | None:
    """0 if a process did its work; None if it has not ended."""
    try:
        ended, status = os.waitpid(process, os.WNOHANG)
    except ChildProcessError:
        # Somebody else has asked for it first.
        return -1
    return os.waitstatus_to_exitcode(status) if ended else None


def _work(work: Callable[[], None], kept: Sequence[int]) -> NoReturn:
    """The second process. It ends here without tidying up what belongs to the first."""
    code = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        _close_all_but(*kept)
        work()
        code = 0
    finally:
        os._exit(code)


def _take_turns(us: int, turns: _Turns, results: IO[bytes], compute: Compute) -> None:
    for section in turns:
        pickle.dump({section.name: compute(section)}, results, pickle.HIGHEST_PROTOCOL)
        results.flush()
        if os.getppid() != us:
            return  # the first process was killed


def _close_all_but(*kept: int) -> None:
    """Close connections and files of the first process, which this one must not hold open."""
    first = 3
    for one in sorted(kept):
        os.closerange(first, one)
        first = one + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def _delivered(results: IO[bytes]) -> Mapping[str, Json]:
    """What the second process finished, by section; the last result may be cut off."""
    results.seek(0)
    found: dict[str, Json] = {}
    try:
        while True:
            found |= pickle.load(results)  # noqa: S301  a file without a name, written by our copy
    except (EOFError, pickle.UnpicklingError):
        return found
