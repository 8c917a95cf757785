"""An arrival costs the same, however many people came before.

Statements and the work of the database are counted, because a busy machine does not change them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.models import ProlificStudy
from demo.prolific.server import SimulatedProlific
from studies.models import Study
from tests.annotation.prolific.life import came_before, make_recruiting, published
from tests.sampling import examples

pytestmark = pytest.mark.django_db

EARLIER = examples(1_000, every=4_000)


class Work:
    """Steps of SQLite's machine, or rows that PostgreSQL has read."""

    def __init__(self) -> None:
        self.done: float = 0

    def _step(self) -> int:
        self.done += 1
        return 0

    def _explained(self, execute: Callable[..., Any], sql: str, params: Any, *rest: Any) -> Any:
        if sql.startswith("SELECT"):
            with connection.connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params)
                self.done += sum(rows_read(cursor.fetchone()[0][0]["Plan"]))
        return execute(sql, params, *rest)

    @contextmanager
    def counted(self) -> Iterator[None]:
        if connection.vendor == "postgresql":
            with connection.execute_wrapper(self._explained):
                yield
            return
        connection.connection.set_progress_handler(self._step, 1)
        yield
        connection.connection.set_progress_handler(None, 0)


def rows_read(plan: dict[str, Any]) -> Iterator[float]:
    """The rows of each part of a plan, with those that it read and left out."""
    rows = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
    yield rows * plan["Actual Loops"]
    for part in plan.get("Plans", ()):
        yield from rows_read(part)


def come(study: Study, row: ProlificStudy, prolific: SimulatedProlific) -> tuple[int, float]:
    """Somebody comes from Prolific to their first item: statements, and work of the database."""
    person = prolific.world.arrive(str(row.prolific_id))
    ids = {"PROLIFIC_PID": person["participant"], "SESSION_ID": person["submission"]}
    client, work = Client(), Work()
    with CaptureQueriesContext(connection) as statements, work.counted():
        client.get(f"/s/{study.slug}/", ids | {"STUDY_ID": str(row.prolific_id)})
        client.post(f"/s/{study.slug}/consent/", {"consent": "yes"})
        address = client.post(f"/s/{study.slug}/instructions/")["Location"]
        assert client.get(address).status_code == 200
    return len(statements), work.done


def test_an_arrival_after_thousands_costs_what_the_first_one_does(prolific):
    row = published(make_recruiting(items=60))
    come(row.study, row, prolific)  # fills what is kept between requests
    first = come(row.study, row, prolific)

    came_before(row, EARLIER)
    last = come(row.study, row, prolific)

    # Chance decides whether the items are read in one part or in two.
    assert last[0] <= first[0] + 1
    assert last[1] <= 1.5 * first[1]  # many more would be read one by one
