"""Signed study links of the simulated Prolific: a key generated at run time, and its tokens.

The key is short-lived and protects nothing.
"""

import secrets
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

ALGORITHM = "RS256"


class LinkKeys:
    """One RSA key, generated when it is first needed."""

    def __init__(self) -> None:
        self.kid = secrets.token_hex(4)

    @cached_property
    def private(self) -> "RSAPrivateKey":
        from cryptography.hazmat.primitives.asymmetric import rsa

        return rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def public(self) -> dict[str, Any]:
        """The public half, as the platform publishes it."""
        from jwt.algorithms import RSAAlgorithm

        key = RSAAlgorithm.to_jwk(self.private.public_key(), as_dict=True)
        return {**key, "kid": self.kid, "alg": ALGORITHM, "use": "sig"}

    def claims(self, url: str, session: str, values: dict[str, str]) -> dict[str, Any]:
        """The claims of a token for a link, valid for two minutes."""
        now = int(time.time())
        return {
            "iss": "https://www.prolific.com",
            "iat": now,
            "exp": now + 120,
            "aud": url,
            "sub": session,
            "prolific": {**values, "workspace_id": "1" * 24},
        }

    def sign(self, claims: dict[str, Any]) -> str:
        import jwt

        return jwt.encode(claims, self.private, algorithm=ALGORITHM, headers={"kid": self.kid})
