"""Parameters of requests, stored once for all requests with equal ones."""

from collections.abc import Sequence
from typing import Any

from django.db.backends.utils import CursorWrapper

from judging.engine.interface import Parameters


def ids_of(cursor: CursorWrapper, sent: Sequence[Parameters], *, now: Any) -> dict[str, int]:
    """Ids by hash, stored if they are new: one query for all rows, and rarely a second.

    Safe while others store the same ones; always in the same order, to prevent deadlocks.
    """
    wanted = {parameters.sha256: parameters for parameters in sent}
    ids = _known(cursor, list(wanted))
    if new := sorted(wanted.keys() - ids.keys()):
        for sha256 in new:
            cursor.execute(
                "INSERT INTO judging_sentparameters (sha256, parameters, created_at)"
                " VALUES (%s, %s, %s) ON CONFLICT (sha256) DO NOTHING",
                [sha256, wanted[sha256].text, now],
            )
        ids |= _known(cursor, new)
    return ids


def _known(cursor: CursorWrapper, hashes: Sequence[str]) -> dict[str, int]:
    if not hashes:
        return {}
    cursor.execute(
        "SELECT sha256, id FROM judging_sentparameters"  # noqa: S608 - places for values alone
        f" WHERE sha256 IN ({', '.join(['%s'] * len(hashes))})",
        list(hashes),
    )
    return dict(cursor.fetchall())
