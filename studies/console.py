"""Output of commands to terminals, pipes and files that cannot take all of it."""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_FULL = "No space is left where the output goes, or on the disk. Make room, then try again.\n"


@contextmanager
def console() -> Iterator[None]:
    """Write what the encoding of a terminal lacks as a code, and end when nobody reads on."""
    if sys.stdout is None:  # closed by who has started the program
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. What was stored until now is kept.\n")
        sys.exit(130)
    except EOFError:
        sys.exit("This asks for a word, and there is no terminal to type it in. Run it in one.")
    except BrokenPipeError:
        # Such as `| head`. At the end Python writes what is left, which must not fail again.
        _forget_output()
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _forget_output()
        sys.exit(_FULL)


def _forget_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
