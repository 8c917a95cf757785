"""Random values: ids for URLs, seeds, and the key for annotators' names in exports."""

import random
import secrets
import string

_LETTERS = string.ascii_letters + string.digits


def random_id(length: int) -> str:
    """Letters and digits only: commands would read an id with a leading dash as an option."""
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


def public_id() -> str:
    """An id for URLs that does not reveal how many exist: 131 bits."""
    return random_id(22)


def shuffle_key() -> int:
    return secrets.randbits(62)


def study_seed() -> int:
    return random.SystemRandom().randrange(2**31)


def export_key() -> str:
    return secrets.token_hex(32)
