"""Encryption of values in the database and in cursors, with a key for each purpose.

The cipher is Fernet; its key is derived by HKDF from the installation's SECRET_KEY, so a copy of
the database alone reveals nothing. A new SECRET_KEY makes what was encrypted unreadable.
"""

import base64
import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

if TYPE_CHECKING:  # takes a tenth of a second, and most pages and commands do not need it
    from cryptography.fernet import Fernet


def cipher(purpose: bytes) -> "Fernet":
    """The cipher for values of one purpose: it cannot read those of another."""
    return _cipher(purpose, settings.SECRET_KEY)


_HELD_SECONDS = 3600


@sensitive_variables()
def hold(purpose: bytes, value: str, *owner: Any) -> str:
    """A secret for a form that is shown again, encrypted, for one owner and one hour."""
    return cipher(purpose).encrypt(json.dumps([*owner, value]).encode()).decode()


@sensitive_variables()
def held(purpose: bytes, token: str, *owner: Any) -> str:
    """The secret that a form holds; empty if it is old or belongs to another owner."""
    from cryptography.fernet import InvalidToken

    try:
        content = cipher(purpose).decrypt(token.encode(), ttl=_HELD_SECONDS)
    except InvalidToken:
        return ""
    *holder, value = json.loads(content)
    return str(value) if holder == [*owner] else ""


@sensitive_variables()
@lru_cache(maxsize=8)
def _cipher(purpose: bytes, secret: str) -> "Fernet":
    from cryptography.fernet import Fernet
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
