"""Parameters of requests, stored once for all requests with equal ones."""

from collections.abc import Sequence
from typing import Any

from django.db.backends.utils import CursorWrapper

from judging.engine.interface import Parameters


def known_ids(cursor: CursorWrapper, sent: Sequence[Parameters]) -> dict[str, int]:
    """Ids by hash of the parameters that are stored."""
    return _known(cursor, sorted({parameters.sha256 for parameters in sent}))


def add_new(
    cursor: CursorWrapper, sent: Sequence[Parameters], known: dict[str, int], *, now: Any
) -> dict[str, int]:
    """Store the parameters that are not `known`, and return the ids of all.

    Safe while others store the same ones; always in the same order, to prevent deadlocks.
    """
    wanted = {parameters.sha256: parameters for parameters in sent}
    new = sorted(wanted.keys() - known.keys())
    for sha256 in new:
        cursor.execute(
            "INSERT INTO judging_sentparameters (sha256, parameters, created_at)"
            " VALUES (%s, %s, %s) ON CONFLICT (sha256) DO NOTHING",
            [sha256, wanted[sha256].text, now],
        )
    return known | _known(cursor, new)


def _known(cursor: CursorWrapper, hashes: Sequence[str]) -> dict[str, int]:
    if not hashes:
        return {}
    cursor.execute(
        "SELECT sha256, id FROM judging_sentparameters"  # noqa: S608 - places for values alone
        f" WHERE sha256 IN ({', '.join(['%s'] * len(hashes))})",
        list(hashes),
    )
    return dict(cursor.fetchall())
