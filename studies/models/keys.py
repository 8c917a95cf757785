"""What is drawn at random: ids for URLs, seeds, and the key that names people in exports."""

import random
import secrets


def public_id() -> str:
    """An id for URLs that tells nothing about how many there are."""
    return secrets.token_urlsafe(16)


def shuffle_key() -> int:
    return secrets.randbits(62)


def study_seed() -> int:
    return random.SystemRandom().randrange(2**31)


def export_key() -> str:
    return secrets.token_hex(32)
