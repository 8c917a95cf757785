"""Parameters of requests, stored once for all requests with equal ones."""

from collections.abc import Sequence
from typing import Any

from django.db.backends.utils import CursorWrapper

from judging.engine.interface import Parameters


def stored_hashes(cursor: CursorWrapper, sent: Sequence[Parameters]) -> set[str]:
    """Hashes of the parameters that are stored."""
    hashes = sorted({parameters.sha256 for parameters in sent})
    if not hashes:
        return set()
    cursor.execute(
        "SELECT sha256 FROM judging_sentparameters"  # noqa: S608 - places for values alone
        f" WHERE sha256 IN ({', '.join(['%s'] * len(hashes))})",
        hashes,
    )
    return {sha256 for (sha256,) in cursor.fetchall()}


def add_new(
    cursor: CursorWrapper, sent: Sequence[Parameters], stored: set[str], *, now: Any
) -> None:
    """Store the parameters that are not `stored`.

    Safe while others store the same ones; always in the same order, to prevent deadlocks.
    """
    wanted = {parameters.sha256: parameters for parameters in sent}
    for sha256 in sorted(wanted.keys() - stored):
        cursor.execute(
            "INSERT INTO judging_sentparameters (sha256, parameters, created_at)"
            " VALUES (%s, %s, %s) ON CONFLICT (sha256) DO NOTHING",
            [sha256, wanted[sha256].text, now],
        )
