"""Signed study links of the simulated Prolific: a key made on the spot, and tokens under it.

The key is short-lived and guards nothing; it is made by the textbook, with the usual tests.
"""

import base64
import hashlib
import json
import random
import secrets
import time
from functools import cached_property
from typing import Any

_BITS = 1024
_EXPONENT = 65537
_SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")
_SMALL = [n for n in range(3, 1000, 2) if all(n % d for d in range(3, int(n**0.5) + 1, 2))]


def encode(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def _number(value: int) -> str:
    return encode(value.to_bytes((value.bit_length() + 7) // 8))


class LinkKeys:
    """One RSA key; made when it is first needed."""

    def __init__(self) -> None:
        self.kid = secrets.token_hex(4)

    @cached_property
    def _primes(self) -> tuple[int, int]:
        return _prime(_BITS // 2), _prime(_BITS // 2)

    def public(self) -> dict[str, str]:
        p, q = self._primes
        return {
            "kty": "RSA", "kid": self.kid, "alg": "RS256", "use": "sig",
            "n": _number(p * q), "e": _number(_EXPONENT),
        }  # fmt: skip

    def token(self, url: str, session: str, values: dict[str, str], **changes: Any) -> str:
        """A token for a link, good for two minutes; `changes` spoil its claims for tests."""
        now = int(time.time())
        claims = {
            "iss": "https://www.prolific.com",
            "iat": now,
            "exp": now + 120,
            "aud": url,
            "sub": session,
            "prolific": {**values, "workspace_id": "1" * 24},
        }
        return self.sign({"alg": "RS256", "typ": "JWT", "kid": self.kid}, claims | changes)

    def sign(self, header: dict[str, Any], claims: dict[str, Any]) -> str:
        signed = f"{encode(json.dumps(header).encode())}.{encode(json.dumps(claims).encode())}"
        p, q = self._primes
        length = ((p * q).bit_length() + 7) // 8
        digest = _SHA256 + hashlib.sha256(signed.encode()).digest()
        padded = b"\x00\x01" + b"\xff" * (length - len(digest) - 3) + b"\x00" + digest
        secret = pow(_EXPONENT, -1, (p - 1) * (q - 1))
        signature = pow(int.from_bytes(padded), secret, p * q).to_bytes(length)
        return f"{signed}.{encode(signature)}"


def _prime(bits: int) -> int:
    while True:
        candidate = secrets.randbits(bits) | (3 << (bits - 2)) | 1
        if (candidate - 1) % _EXPONENT and _is_prime(candidate):
            return candidate


def _is_prime(number: int) -> bool:
    """Miller and Rabin's test, forty rounds."""
    if any(number % small == 0 for small in _SMALL):
        return False
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for _ in range(40):
        value = pow(random.randrange(2, number - 1), odd, number)  # noqa: S311  any base will do
        if value in (1, number - 1):
            continue
        for _ in range(twos - 1):
            value = pow(value, 2, number)
            if value == number - 1:
                break
        else:
            return False
    return True
