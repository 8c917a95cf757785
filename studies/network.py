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
    ipaddress.IPv6Network(each) for each in ("::/96", "64:ff9b::/96", "64:ff9b:1::/48")
)
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_link_local(address: str) -> bool:
    """Whether an IP address is link-local, or serves a cloud provider's metadata."""
    return any(each.is_link_local or str(each) in _METADATA for each in _reached(address))


def _reached(address: str) -> list[Address]:
    """The address, or the IPv4 addresses inside an IPv6 one."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv4Address) or found in (
        ipaddress.IPv6Address("::"),
        ipaddress.IPv6Address("::1"),
    ):
        return [found]
    inner = [found.ipv4_mapped, found.sixtofour, *(found.teredo or ())]
    if any(found in network for network in _ENDING_IN_IPV4):
        inner.append(ipaddress.IPv4Address(int(found) & 0xFFFFFFFF))
    return [each for each in inner if each is not None] or [found]


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
