"""Reading of foreign files in a child process, so that no file can crash a server or worker.

The limits of this folder are checked before anything is parsed. What they miss, such as a bug in an
unpacking library, ends only the child: its memory and time are limited, and its end becomes an
error sentence. It starts as a new program, because a process with threads cannot be forked safely,
and sends what it read as pickles.

Files of up to `SMALL` unpacked bytes are read without a child, which would cost more to start: the
worst ones tried, full of lists, objects, cells or rows, took 20 MB and 0.4 s. The parent may also
read lines of JSON and rows of CSV, which are limited one by one.

macOS can limit only the time of a process, not its memory.
"""

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

from studies.importers.files.faults import Refused, refused

if sys.platform != "wasi":  # in a browser, which has no processes
    import resource

SMALL = 512 * 1024
MEMORY = 1 << 30  # bytes more than the program itself
SECONDS = 60  # of computing, and as many more for each MB
SECONDS_PER_MB = 2
_ROOT = Path(__file__).resolve().parents[3]
_START = "from studies.importers.files.child import answer; answer()"
# Threads reserve memory without using it, and the limit would count it.
_ONE_THREAD = {
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "ARROW_IO_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
_OUT_OF_MEMORY = 77  # exit code
_is_child = False
Send = Callable[[Any], None]
Result = TypeVar("Result")


def is_needed(size: int) -> bool:
    """Whether a file of `size` unpacked bytes must be read in a child process."""
    return size > SMALL and not _is_child and sys.platform != "wasi"


def from_child(
    function: Callable[..., None],
    *args: Any,
    name: str,
    size: int,
    prepare: Callable[[], object] | None = None,
) -> Iterator[Any]:
    """What `function(send, *args)` sends in a child process that reads the file `name`.

    Its exceptions are raised here. Raises `Refused` if the child ends in another way.
    `prepare` is called before `function` is imported, such as `django.setup`.
    """
    seconds = SECONDS + SECONDS_PER_MB * (size >> 20)
    with tempfile.TemporaryDirectory(prefix="thirdperson-read-") as folder:
        with tempfile.TemporaryFile(dir=folder) as work:
            pickle.dump((sys.path, seconds), work)
            pickle.dump(prepare, work)
            pickle.dump((function, args), work)
            work.seek(0)
            # -P: a module in the current folder must not take the place of one of Python.
            child = subprocess.Popen(  # noqa: S603  this program
                [sys.executable, "-P", "-c", _START],
                stdin=work,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={
                    **os.environ,
                    **_ONE_THREAD,
                    "PYTHONPATH": str(_ROOT),
                    "TMPDIR": folder,
                },
            )
        try:
            yield from _received(child, name, seconds)
        finally:
            child.kill()
            child.wait()
            if child.stdout is not None:
                child.stdout.close()


def apart(function: Callable[..., Result], *args: Any, name: str, size: int) -> Result:
    """What `function(*args)` returns, computed in a child process; here, if this is one.

    For libraries in which a file of any size may do what it likes, such as those of films.
    """
    if _is_child or sys.platform == "wasi":
        return function(*args)
    result: Result
    (result,) = from_child(_send_result, function, args, name=name, size=size)
    return result


def _send_result(send: Send, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    send(function(*args))


def _received(child: "subprocess.Popen[bytes]", name: str, seconds: int) -> Iterator[Any]:
    assert child.stdout is not None  # noqa: S101  it is a pipe
    while True:
        try:
            kind, value = pickle.load(child.stdout)  # noqa: S301  written by this program
        except (EOFError, pickle.UnpicklingError):
            raise _died(child.wait(), name, seconds) from None
        if kind == "end":
            return
        if kind == "error":
            raise _rebuilt(*value)
        yield value


def _died(code: int, name: str, seconds: int) -> Refused:
    message = "the process that reads files crashed on it. It may be damaged."
    if code == -signal.SIGXCPU:
        message = f"reading it takes more than {seconds} seconds of computing."
    elif code in (_OUT_OF_MEMORY, -signal.SIGKILL):
        message = "there was not enough memory to read it."
    remedy = "Leave out what you do not need, or split the file and import the parts."
    return refused(name, message, remedy)


def _rebuilt(kind: type[Exception], args: tuple[Any, ...], state: dict[str, Any]) -> Exception:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


def answer() -> NoReturn:
    """Do the work on the standard input, and write the answer to the standard output."""
    global _is_child
    _is_child = True
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # no library writes between the pickles
    sys.path[:], seconds = pickle.load(sys.stdin.buffer)  # noqa: S301  by the parent
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_CPU, seconds)
    _limit(resource.RLIMIT_AS, _used() + MEMORY)
    try:
        if (prepare := pickle.load(sys.stdin.buffer)) is not None:  # noqa: S301  by the parent
            prepare()
        function, args = pickle.load(sys.stdin.buffer)  # noqa: S301  written by the parent
        function(lambda part: _send(out, "part", part), *args)
        _send(out, "end", None)
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)  # nobody may be left to receive a message
    except Exception as error:  # noqa: BLE001  it is raised by the parent
        error.add_note(traceback.format_exc())
        _send(out, "error", (type(error), error.args, error.__dict__))
    os._exit(0)


def _send(out: IO[bytes], kind: str, value: Any) -> None:
    pickle.dump((kind, value), out, pickle.HIGHEST_PROTOCOL)
    out.flush()


def _limit(kind: int, most: int) -> None:
    with suppress(ValueError, OSError):
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (most if hard < 0 else min(most, hard), hard))


def _used() -> int:
    with suppress(OSError):
        pages = Path("/proc/self/statm").read_text("ascii").split()[0]
        return int(pages) * resource.getpagesize()
    return 0
