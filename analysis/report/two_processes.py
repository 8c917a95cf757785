"""Compute a large report's sections in two processes; the results are those of one.

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
    moving = [section for section in sections if section.turn == "any"][:MOST_SECTIONS]
    staying = [section for section in sections if section not in moving]
    last = [section for section in staying if section.turn == "last"]
    first = [section for section in staying if section not in last]
    found: dict[str, Json] = {}
    with _turns(moving) as turns, tempfile.TemporaryFile() as results:
        began = time.monotonic()
        with _second_process(turns, results, there) as wait:
            for section in chain(first, turns, last):
                found[section.name] = here(section)
            wait(max(PATIENCE_SECONDS, time.monotonic() - began))
        found |= _delivered(results)
    missing = [section for section in moving if section.name not in found]
    if missing:
        logger.warning("The second process of a report did not compute %s sections.", len(missing))
    found |= {section.name: here(section) for section in missing}
    return [found[section.name] for section in sections]


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
def _second_process(
    turns: _Turns, results: IO[bytes], compute: Compute
) -> Iterator[Callable[[float], None]]:
    """Start the second process; yields what waits for its end. It does not outlive the block."""
    us = os.getpid()
    with warnings.catch_warnings():
        # Other threads do not exist in the copy, which waits for none of them: it only computes.
        warnings.simplefilter("ignore", DeprecationWarning)
        them = os.fork()
    if not them:
        _work(us, turns, results, compute)
    is_there = True

    def wait(seconds: float) -> None:
        nonlocal is_there
        limit = time.monotonic() + seconds
        while is_there and time.monotonic() < limit:
            is_there = not _has_ended(them)
            if is_there:
                time.sleep(0.01)

    try:
        yield wait
    finally:
        if is_there and not _has_ended(them):
            os.kill(them, signal.SIGKILL)
            os.waitpid(them, 0)


def _has_ended(process: int) -> bool:
    try:
        return os.waitpid(process, os.WNOHANG) != (0, 0)
    except ChildProcessError:
        # Somebody else has asked for it first.
        return True


def _work(us: int, turns: _Turns, results: IO[bytes], compute: Compute) -> NoReturn:
    """The second process. It ends here without tidying up what belongs to the first."""
    code = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        _close_all_but(turns.pipe, results.fileno())
        for section in turns:
            pickle.dump({section.name: compute(section)}, results, pickle.HIGHEST_PROTOCOL)
            results.flush()
            if os.getppid() != us:
                break  # the first process was killed
        code = 0
    finally:
        os._exit(code)


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
