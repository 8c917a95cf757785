"""Addresses that clients of this program must not reach, and the header Retry-After.

Pure: no Django.
"""

import ipaddress
import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# Addresses at which cloud providers serve a machine's credentials, besides link-local ones.
_METADATA = frozenset(
    {"100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"}
)
# IPv6 networks whose addresses end in an IPv4 address, which a translator reaches.
_ENDING_IN_IPV4 = tuple(
    ipaddress.IPv6Network(prefix) for prefix in ("::/96", "64:ff9b::/96", "64:ff9b:1::/48")
)
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_link_local(address: str) -> bool:
    """Whether an IP address is link-local, or serves a cloud provider's metadata."""
    return any(reached.is_link_local or str(reached) in _METADATA for reached in _reached(address))


def _reached(address: str) -> list[Address]:
    """The address, or the IPv4 addresses inside an IPv6 one."""
    own = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(own, ipaddress.IPv4Address) or own in (
        ipaddress.IPv6Address("::"),
        ipaddress.IPv6Address("::1"),
    ):
        return [own]
    inner = [own.ipv4_mapped, own.sixtofour, *(own.teredo or ())]
    if any(own in network for network in _ENDING_IN_IPV4):
        inner.append(ipaddress.IPv4Address(int(own) & 0xFFFFFFFF))
    return [inner_address for inner_address in inner if inner_address is not None] or [own]


_EPOCH = 1_000_000_000  # a larger number is no pause but a time, in seconds since 1970


def seconds_to_wait(value: str | None, *, unit: float = 1.0) -> float | None:
    """Seconds from a header with a number of `unit`, a time or a date; None for anything else."""
    try:
        number = float(value or "")
        if not 0 <= number < math.inf:
            return None
        if number < _EPOCH:
            return number * unit
        seconds = number / 1000 if number >= 1000 * _EPOCH else number
        return max(0.0, seconds - datetime.now(UTC).timestamp())
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(value or "")
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())
