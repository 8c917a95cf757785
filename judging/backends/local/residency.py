"""One local model in the memory of this process at a time.

Two judges with models of their own can share a worker. A model that another one waits for leaves
the memory as soon as it has nothing to answer, or after its turn, and the next is loaded then.
"""

import threading
import time
from collections.abc import Callable
from typing import Protocol

TURN_SECONDS = 300.0  # loading takes minutes, so a model stays this long while others wait
_LOOK_SECONDS = 1.0


class Resident(Protocol):
    """The owner of a model."""

    moved_at: float  # when its model last made a step, by the monotonic clock


class Residency:
    """The right to have a model in memory: one owner at a time, in the order of asking."""

    def __init__(self, *, turn_seconds: float = TURN_SECONDS) -> None:
        self._turn_seconds = turn_seconds
        self._change = threading.Condition()
        self._holder: Resident | None = None
        self._since = 0.0
        self._waiting: list[Resident] = []

    def enter(self, owner: Resident, is_over: Callable[[], bool]) -> bool:
        """Wait until no other model is in memory; False if `is_over` before that.

        The owner moves as long as the model that it waits for does.
        """
        with self._change:
            self._waiting.append(owner)
            try:
                while self._holder is not None or self._waiting[0] is not owner:
                    if is_over():
                        return False
                    if self._holder is not None:
                        owner.moved_at = max(owner.moved_at, self._holder.moved_at)
                    self._change.wait(_LOOK_SECONDS)
                self._holder, self._since = owner, time.monotonic()
                return True
            finally:
                self._waiting.remove(owner)
                self._change.notify_all()

    def is_due(self, owner: Resident, *, is_idle: bool) -> bool:
        """Whether the owner's model must leave the memory for one that waits."""
        with self._change:
            if self._holder is not owner or not self._waiting:
                return False
            return is_idle or time.monotonic() - self._since > self._turn_seconds

    def leave(self, owner: Resident) -> None:
        """The owner's model is no longer in memory; has no effect if it was not."""
        with self._change:
            if self._holder is owner:
                self._holder = None
                self._change.notify_all()


RESIDENCY = Residency()
