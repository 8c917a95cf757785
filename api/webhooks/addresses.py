"""Addresses that this server may call: an address of a user must not lead into its own network."""

import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings

from api.errors import WebhookError
from studies.network_addresses import is_public

_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True)
class WebhookTarget:
    """Where a request goes: the address that was checked, and the name it was found under."""

    scheme: str
    host: str
    ip: str
    port: int
    path: str

    @property
    def netloc(self) -> str:
        """The value of the header Host."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == _PORTS[self.scheme] else f"{name}:{self.port}"

    @property
    def url(self) -> str:
        """The address with the IP in place of the name, which could mean another one next time."""
        ip = f"[{self.ip}]" if ":" in self.ip else self.ip
        return f"{self.scheme}://{ip}:{self.port}{self.path}"


def check_url(url: str) -> None:
    """Raise `WebhookError` unless `url` has the form of an address that may be called."""
    _parts(url)


def find_target(url: str) -> WebhookTarget:
    """Look up an address. Raises `WebhookError` if any IP of its name may not be called."""
    scheme, host, port, path = _parts(url)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise WebhookError(f"The name {host} is not known: {error}.") from error
    ips = list(dict.fromkeys(str(address[0]) for *_, address in found))
    if not settings.WEBHOOK_PRIVATE_ADDRESSES and not all(map(is_public, ips)):
        raise WebhookError(
            f"{host} is an address of this machine or of a private network. Use a public address, "
            "or ask the administrator to set WEBHOOK_PRIVATE_ADDRESSES=1."
        )
    return WebhookTarget(scheme, host, ips[0], port, path)


def _parts(url: str) -> tuple[str, str, int, str]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise WebhookError(f"“{url}” is not an address: {error}.") from error
    schemes = ("https", "http") if settings.WEBHOOK_PRIVATE_ADDRESSES else ("https",)
    if parts.scheme not in schemes or not parts.hostname:
        raise WebhookError("Use an address that begins with https://.")
    if parts.username or parts.password or parts.fragment:
        raise WebhookError("Use an address without a user name, password and #fragment.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return parts.scheme, parts.hostname, port or _PORTS[parts.scheme], path
