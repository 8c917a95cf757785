"""Waiting for work of the server, with its progress."""

import time
from collections.abc import Callable
from typing import Any

_FIRST, _LONGEST = 0.2, 3.0  # seconds between two looks


class JobFailed(Exception):
    """A job of the server failed; `job` is its last state."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        faults = "".join(f"\n  {_fault(each)}" for each in job.get("faults", ())[:20])
        super().__init__(f"{job['message']}{faults}")


def wait(
    look: Callable[[], dict[str, Any]],
    *,
    done: Callable[[dict[str, Any]], float],
    is_open: Callable[[dict[str, Any]], bool],
    label: str,
    progress: bool,
    timeout: float | None,
) -> dict[str, Any]:
    """What `look` returns once it `is_open` no more; `done` is the percentage.

    Shows a bar in a terminal. Raises `TimeoutError`; the work goes on.
    """
    from tqdm import tqdm

    begun, pause = time.monotonic(), _FIRST
    with tqdm(total=100, desc=label, unit="%", disable=None if progress else True) as bar:
        while True:
            found = look()
            bar.update(done(found) - bar.n)
            if not is_open(found):
                return found
            if timeout is not None and time.monotonic() - begun > timeout:
                raise TimeoutError(f"{label}: not finished within {timeout:g} seconds.")
            time.sleep(pause)
            pause = min(_LONGEST, pause * 1.3)


def wait_for_job(
    look: Callable[[], dict[str, Any]], *, label: str, progress: bool, timeout: float | None
) -> dict[str, Any]:
    """A job once it has ended. Raises `JobFailed` unless it is done."""
    job = wait(
        look,
        done=lambda found: float(found["progress"]),
        is_open=lambda found: bool(found["is_open"]),
        label=label,
        progress=progress,
        timeout=timeout,
    )
    if job["state"] != "done":
        raise JobFailed(job)
    return job


def _fault(fault: dict[str, Any]) -> str:
    line = fault.get("line")
    place = f"{'entry' if fault.get('is_entry') else 'line'} {line}"
    return f"{place}: {fault['message']}" if line else str(fault["message"])
