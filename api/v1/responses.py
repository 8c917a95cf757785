"""Common parts of responses: pages of lists by key, rows of tables, jobs of workers.

A page begins after the last row of the previous one. Cursors are encrypted, because keys of rows
can reveal more than the rows: an internal name of an annotator, or how many there are.
"""

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from ninja import Schema
from pydantic import Field, create_model

from analysis.exports.columns import ANNOTATIONS, ANNOTATORS, JUDGMENTS, Column
from api.problems import Problem
from studies.jobs.models import Job
from studies.sealing import cipher

USUAL, MOST = 100, 500
T = TypeVar("T")
_PURPOSE = b"thirdperson: cursors of the API, version 1"


class PageOf(Schema, Generic[T]):
    """A page of a list. `next` is the cursor of the next page; null on the last one."""

    data: list[T]
    next: str | None


class PageQuery(Schema):
    limit: int = Field(USUAL, ge=1, le=MOST, description="Rows of a page.")
    cursor: str = Field(
        "", max_length=2_000, description="`next` of the previous page; empty for the first page."
    )

    def after(self, name: str, *kinds: type) -> list[Any] | None:
        """The key of the last row of the previous page of the list `name`."""
        if not self.cursor:
            return None
        from cryptography.fernet import InvalidToken

        try:
            values = json.loads(cipher(_PURPOSE).decrypt(self.cursor.encode()))
        except (InvalidToken, ValueError):
            values = []
        if values[:1] != [name] or [type(part) for part in values[1:]] != [*kinds]:
            raise Problem(
                422,
                "The cursor does not belong to this list. Use `next` of the previous page, or "
                "start without a cursor.",
                errors=[{"field": "cursor", "message": "not a cursor of this list"}],
            )
        return list(values[1:])


def page(
    name: str,
    rows: Sequence[Any],
    query: PageQuery,
    *,
    key: Callable[[Any], Sequence[Any]],
    show: Callable[[Any], Any],
) -> dict[str, Any]:
    """The page of `rows`, of which one more than the limit is read."""
    page = rows[: query.limit]
    more = len(rows) > query.limit
    following = [name, *key(page[-1])] if more else None
    return {
        "data": [show(row) for row in page],
        "next": cipher(_PURPOSE).encrypt(json.dumps(following).encode()).decode()
        if following
        else None,
    }


_KINDS: dict[str, Any] = {
    "text": str | None,
    "integer": int | None,
    "number": float | None,
    "boolean": bool | None,
    "time": str | None,
    "json": Any,
}


def _row(name: str, columns: tuple[Column, ...]) -> Any:
    fields: dict[str, Any] = {
        column.name: (_KINDS[column.kind], Field(description=column.meaning)) for column in columns
    }
    return create_model(name, __base__=Schema, **fields)


Answer = _row("Answer", ANNOTATIONS)
Judgment = _row("Judgment", JUDGMENTS)
Annotator = _row("Annotator", ANNOTATORS)


class JobOut(Schema):
    id: str
    state: Literal["queued", "running", "done", "failed", "gone"]
    is_open: bool = Field(description="Whether it is still waiting or running.")
    progress: int = Field(description="Percent.")
    message: str = Field(description="The current step, the result, or why it failed.")
    created_at: datetime
    finished_at: datetime | None


def job_fields(job: Job, public_id: str) -> dict[str, Any]:
    return {
        "id": public_id,
        "state": job.state,
        "is_open": job.is_open,
        "progress": job.progress,
        "message": job.sentence,
        "created_at": job.created_at,
        "finished_at": job.finished_at,
    }
