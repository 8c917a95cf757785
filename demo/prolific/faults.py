"""Faults in the simulated Prolific's answers, to test how its client handles them."""

from dataclasses import dataclass

FAULTS = (
    "429",
    "429_wait",
    "500",
    "502_html",
    "401",
    "404",
    "dropped_before",
    "dropped_after",
    "slow",
    "malformed",
    "empty",
)
# These damage the answer after executing the request; the others prevent execution.
AFTERWARDS = {"slow", "dropped_after", "malformed", "empty"}


@dataclass
class RequestFault:
    """The fault for the next `times` requests of this method whose path matches."""

    method: str
    path: str
    name: str
    times: int = 1
    seconds: float = 1.0


class RequestFaults:
    """The requested faults, each for a number of requests."""

    def __init__(self) -> None:
        self._ordered: list[RequestFault] = []

    def order(self, fault: RequestFault) -> None:
        if fault.name not in FAULTS:
            raise ValueError(f"fault must be one of {', '.join(FAULTS)}")
        self._ordered.append(fault)

    def take(self, method: str, path: str) -> RequestFault | None:
        for fault in self._ordered:
            if fault.method in ("*", method) and fault.path in path:
                fault.times -= 1
                if fault.times <= 0:
                    self._ordered.remove(fault)
                return fault
        return None

    def clear(self) -> None:
        self._ordered.clear()
