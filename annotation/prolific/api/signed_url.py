"""Signed study links: a token from Prolific that says who is at the door, without a request.

Some workspaces send `prolific_token`, a JWT signed with RS256. Only that algorithm is accepted,
with a key of Prolific's published set. RSASSA-PKCS1-v1_5 is verified as in RFC 8017, 8.2.2: the
padded digest is built and compared whole, so nothing in a forged padding is ever parsed.
"""

import base64
import binascii
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import requests
from django.conf import settings
from django.core.cache import cache

from annotation.prolific.api.transport import api_base

logger = logging.getLogger(__name__)

ISSUER = "https://www.prolific.com"
_PATH = "/.well-known/study/jwks.json"
_KEYS, _KEPT_FOR = "prolific-jwks", 12 * 3600
# Clocks differ a little; the token itself is good for two minutes.
_LEEWAY = 30
_LONGEST = 8000
# The ASN.1 of "this is a SHA-256 digest", RFC 8017, 9.2.
_SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")


class BadToken(ValueError):
    """The token is forged, of another study or person, or too old."""


def check(token: str, *, query: Mapping[str, str], now: float | None = None) -> None:
    """Check that Prolific has signed this link for these ids. Raises `BadToken`.

    Raises `requests.RequestException` when the keys cannot be read.
    """
    header, claims, signed, signature = _parts(token)
    if header.get("alg") != "RS256":
        raise BadToken("the algorithm is not RS256")
    key = _key(str(header.get("kid") or ""))
    if key is None or not _verifies(key, signed, signature):
        raise BadToken("the signature is not Prolific's")
    moment = time.time() if now is None else now
    expires = claims.get("exp")
    if not isinstance(expires, int | float) or expires + _LEEWAY < moment:
        raise BadToken("the token is too old")
    if claims.get("iss") != ISSUER:
        raise BadToken("the token is not from Prolific")
    own = urlsplit(settings.PUBLIC_BASE_URL).hostname
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if own not in {urlsplit(str(url)).hostname for url in audiences}:
        raise BadToken("the token is for another site")
    said = claims.get("prolific")
    for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"):
        if not isinstance(said, dict) or said.get(name) != query.get(name):
            raise BadToken(f"{name} is not the one that was signed")
    if claims.get("sub") != query.get("SESSION_ID"):
        raise BadToken("the token is for another session")


def _parts(token: str) -> tuple[dict[str, Any], dict[str, Any], bytes, bytes]:
    try:
        head, body, signature = token[:_LONGEST].split(".")
        header, claims = json.loads(_decode(head)), json.loads(_decode(body))
        found = _decode(signature)
    except (ValueError, binascii.Error):
        raise BadToken("it is no token") from None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        raise BadToken("it is no token")
    return header, claims, f"{head}.{body}".encode(), found


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))


def _key(kid: str) -> tuple[int, int] | None:
    """Modulus and exponent of a key; an unknown one reads the published set again."""
    keys = cache.get(_KEYS)
    if keys is None or (kid not in keys and cache.add(f"{_KEYS}-read", True, 60)):
        keys = _read_keys()
        cache.set(_KEYS, keys, _KEPT_FOR)
    found = keys.get(kid)
    return (found[0], found[1]) if found else None


def _read_keys() -> dict[str, tuple[int, int]]:
    parts = urlsplit(api_base(settings.PROLIFIC_BASE_URL))
    url = f"{parts.scheme}://{parts.netloc}{_PATH}"
    answer = requests.get(url, timeout=4, allow_redirects=False)
    answer.raise_for_status()
    keys = {}
    for row in answer.json().get("keys", []):
        if row.get("kty") == "RSA" and row.get("alg", "RS256") == "RS256":
            numbers = (int.from_bytes(_decode(row["n"])), int.from_bytes(_decode(row["e"])))
            keys[str(row.get("kid") or "")] = numbers
    return keys


def _verifies(key: tuple[int, int], signed: bytes, signature: bytes) -> bool:
    modulus, exponent = key
    length = (modulus.bit_length() + 7) // 8
    number = int.from_bytes(signature)
    if length < 128 or len(signature) != length or number >= modulus:
        return False
    digest = _SHA256 + hashlib.sha256(signed).digest()
    expected = b"\x00\x01" + b"\xff" * (length - len(digest) - 3) + b"\x00" + digest
    return hmac.compare_digest(pow(number, exponent, modulus).to_bytes(length), expected)
