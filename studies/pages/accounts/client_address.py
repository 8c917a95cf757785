"""The network address that a request comes from."""

import ipaddress

from django.conf import settings
from django.http import HttpRequest

UNKNOWN = "unknown"


def client_address(request: HttpRequest) -> str:
    """The address that sent the request, in the form that limits use.

    Any client can write X-Forwarded-For, so only the last `TRUSTED_PROXIES` entries count, which
    the installation's own proxies wrote. IPv6 addresses are cut to their network of 64 bits, which
    belongs to one connection.
    """
    connection = request.META.get("REMOTE_ADDR", "")
    if settings.TRUSTED_PROXIES:
        written = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
        if len(written) >= settings.TRUSTED_PROXIES:
            return _counted(written[-settings.TRUSTED_PROXIES]) or _counted(connection) or UNKNOWN
    return _counted(connection) or UNKNOWN


def _counted(text: str) -> str:
    """The address in the form that limits use; empty if `text` is not an address."""
    try:
        address = ipaddress.ip_address(text.strip())
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), 64), strict=False))
