"""Keys that were entered on a page: encrypted in the database, opened when a request needs them.

The cipher is Fernet; its key is derived by HKDF from the installation's SECRET_KEY, so a copy of
the database alone reveals nothing. A new SECRET_KEY makes stored keys unreadable: they are entered
again.
"""

import base64
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from judging.errors import BadJudge

if TYPE_CHECKING:  # it takes a tenth of a second that most pages and commands do not need
    from cryptography.fernet import Fernet

_PURPOSE = b"thirdperson: keys of judges, version 1"


@dataclass(frozen=True)
class SealedKey:
    """The encrypted key of a judge. Two are equal if they are the same stored key."""

    judge: str = field(compare=False)
    token: str = field(repr=False)

    @sensitive_variables()
    def open(self) -> str:
        """The key. Raises `BadJudge` if it cannot be read, or must not be."""
        from cryptography.fernet import InvalidToken

        if not settings.JUDGE_STORED_KEYS:
            raise BadJudge(
                f"Judge “{self.judge}” has a stored key, and this server no longer allows stored "
                "keys. Name an environment variable with its key, or ask the administrator to set "
                "JUDGE_STORED_KEYS=1."
            )
        try:
            return _cipher(settings.SECRET_KEY).decrypt(self.token.encode()).decode()
        except InvalidToken:
            raise BadJudge(
                f"The stored key of judge “{self.judge}” cannot be read, because the SECRET_KEY of "
                "this server has changed. Enter the key again on the judge's page."
            ) from None


@sensitive_variables()
def seal(key: str) -> str:
    """Encrypt a key for the database."""
    return _cipher(settings.SECRET_KEY).encrypt(key.encode()).decode()


@sensitive_variables()
@lru_cache(maxsize=1)
def _cipher(secret: str) -> "Fernet":
    from cryptography.fernet import Fernet
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(secret.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
