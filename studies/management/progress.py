"""Progress bars of commands, shown only at a terminal, never in a pipe or a log."""

from typing import Any, TextIO


def progress_bar(stream: TextIO, *, total: int, label: str = "") -> Any:
    """A bar of tqdm on `stream`, which is cleared when the work ends or fails.

    Use it with `with`; `update(n)` counts. It does nothing if `stream` is not a terminal.
    """
    from tqdm import tqdm  # Here, because only some commands show progress.

    return tqdm(total=total, desc=label, file=stream, disable=None, leave=False, dynamic_ncols=True)
