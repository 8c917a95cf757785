"""Progress bars of commands: shown at a terminal only, never in a pipe or a log."""

from typing import Any, TextIO


def progress_bar(stream: TextIO, *, total: int, label: str = "") -> Any:
    """A bar of tqdm on `stream`, which is left clean when the work ends or fails.

    Use it with `with`; `update(n)` counts. It counts nothing where `stream` is no terminal.
    """
    from tqdm import tqdm  # Here, because only some commands show progress.

    return tqdm(total=total, desc=label, file=stream, disable=None, leave=False, dynamic_ncols=True)
