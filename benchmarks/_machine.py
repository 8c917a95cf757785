"""The machine that is measured on: free ports, and how much it works."""

import os
import socket
from contextlib import ExitStack
from pathlib import Path


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nothing uses, all different."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def busy_seconds() -> float:
    """CPU time that all programs of the machine have used so far."""
    user, nice, system, _, _, interrupts, softirqs, steal = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    )
    return (user + nice + system + interrupts + softirqs + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """CPU time of this process and of its ended children."""
    return sum(os.times()[:4])
