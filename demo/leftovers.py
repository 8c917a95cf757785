"""Processes that a killed demo left running, listed so that the next demo can end them."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path


def note(path: Path, pids: Mapping[int, str]) -> None:
    """Store the running processes, with the command line of each."""
    path.write_text(json.dumps({str(pid): command for pid, command in pids.items()}), "utf-8")


def end_leftovers(path: Path, *, seconds: float = 20) -> None:
    """End the processes that `path` lists, if they are still the same."""
    try:
        noted = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return
    # An empty argument at the end leaves a space in one of the two.
    left = {int(pid) for pid, command in noted.items() if command.strip() in _command(int(pid))}
    for pid in left:
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + seconds
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left = {pid for pid in left if _command(pid)}
    for pid in left:
        os.killpg(pid, signal.SIGKILL)
    path.unlink()


def _command(pid: int) -> str:
    """The command line of a process; empty when there is none, or when it cannot be read."""
    try:
        result = subprocess.run(  # noqa: S603
            ["ps", "-ww", "-o", "stat=,args=", "-p", str(pid)],  # noqa: S607
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return ""
    state, _, command = result.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else command
