"""Signed study links: a token from Prolific that proves who opens the link, without a request.

Some workspaces send `prolific_token`, a JWT signed with RS256 under one of Prolific's published
keys. PyJWT verifies it; it accepts no other algorithm and no key shorter than 2048 bits.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.cache import cache

from annotation.prolific.api.transport import api_base

if TYPE_CHECKING:
    from jwt import PyJWK


ISSUER = "https://www.prolific.com"
_ALGORITHM = "RS256"
_PATH = "/.well-known/study/jwks.json"
_KEYS, _KEPT_FOR = "prolific-jwk-set", 12 * 3600
# An unknown key id makes us read the published keys again, at most once in this many seconds.
_READ_AGAIN_AFTER = 60
# Clocks differ a little; the token itself is valid for two minutes.
_LEEWAY = 30
_LONGEST = 8000


class BadToken(ValueError):
    """The token is forged, for another study or participant, or too old."""


class KeysUnavailable(Exception):
    """Prolific's published keys cannot be read."""


def check(token: str, *, query: Mapping[str, str]) -> None:
    """Check that Prolific has signed this link for these ids.

    Raises `BadToken`, or `KeysUnavailable` when the keys cannot be read.
    """
    claims = _verified_claims(token, session=query.get("SESSION_ID", ""))
    own = urlsplit(settings.PUBLIC_BASE_URL).hostname
    audience = claims["aud"]
    audiences = audience if isinstance(audience, list) else [audience]
    if own not in {urlsplit(str(url)).hostname for url in audiences}:
        raise BadToken("the token is for another site")
    signed = claims.get("prolific")
    for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"):
        if not isinstance(signed, dict) or signed.get(name) != query.get(name):
            raise BadToken(f"{name} is not the one that Prolific signed")


def _verified_claims(token: str, *, session: str) -> dict[str, Any]:
    """The claims of the token, after its signature, time, issuer and session were verified."""
    import jwt  # Here, because it loads the cryptography library.
    from jwt.exceptions import InvalidSubjectError

    if len(token) > _LONGEST:
        raise BadToken("the token is too long")
    decoder = jwt.PyJWT({"enforce_minimum_key_length": True})
    try:
        key = _key(str(jwt.get_unverified_header(token).get("kid") or ""))
        return decoder.decode(
            token,
            key,
            algorithms=[_ALGORITHM],
            issuer=ISSUER,
            subject=session,
            leeway=_LEEWAY,
            # The audience is the whole link: its host is compared by `check`. Prolific's clock
            # may be ahead of ours, which does no harm, so the time of issue is not verified.
            options={
                "require": ["exp", "iss", "aud", "sub"],
                "verify_aud": False,
                "verify_iat": False,
            },
        )
    except jwt.ExpiredSignatureError:
        raise BadToken("the token has expired") from None
    except jwt.InvalidIssuerError:
        raise BadToken("the token is not from Prolific") from None
    except InvalidSubjectError:
        raise BadToken("the token is for another session") from None
    except jwt.MissingRequiredClaimError as error:
        raise BadToken(f"the token does not state “{error.claim}”") from None
    except jwt.InvalidSignatureError:
        raise BadToken("the signature is not Prolific's") from None
    except jwt.InvalidAlgorithmError:
        raise BadToken(f"the algorithm is not {_ALGORITHM}") from None
    except jwt.PyJWTError:
        raise BadToken("the token cannot be read") from None


def _key(kid: str) -> "PyJWK":
    """The published key with this id. An unknown id makes us read the published keys again."""
    import jwt

    rows = cache.get(_KEYS)
    known = {row.get("kid") for row in rows or []}
    if rows is None or (kid not in known and cache.add(f"{_KEYS}-read", True, _READ_AGAIN_AFTER)):
        rows = _read_keys()
        cache.set(_KEYS, rows, _KEPT_FOR)
    try:
        return jwt.PyJWKSet(rows)[kid]
    except (KeyError, jwt.PyJWKSetError):
        raise BadToken("no published key of Prolific has the token's key id") from None


def _read_keys() -> list[dict[str, Any]]:
    import requests

    parts = urlsplit(api_base(settings.PROLIFIC_BASE_URL))
    url = f"{parts.scheme}://{parts.netloc}{_PATH}"
    try:
        answer = requests.get(url, timeout=4, allow_redirects=False)
        answer.raise_for_status()
        rows = answer.json().get("keys", [])
    except (requests.RequestException, ValueError, AttributeError) as error:
        raise KeysUnavailable(f"{url} cannot be read.") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise KeysUnavailable(f"{url} holds no list of keys")
    return rows
