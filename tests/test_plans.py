"""Hot queries use an index, and pages cost the same number of queries in a study of any size."""

import json
import re
import secrets
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation import services
from annotation.researchers import views
from benchmarks._grown_study import GrownStudy, grow
from judging import tasks
from judging.models import JudgeRun, Judgment
from judging.runs import reuse
from judging.runs.spec import Reuse
from judging.worker import chunks, run_states
from studies.models import Item
from studies.pages import responses
from studies.pages.responses import LongList
from studies.statements import kept_figures
from tests.factories import answer_item

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]

# Tables with a row for each item, seat, answer, judgment or request. A plan that reads one of them
# from end to end grows with the study.
GROWING = {
    "studies_item",
    "annotation_assignment",
    "annotation_annotation",
    "annotation_annotationrevision",
    "judging_judgment",
    "judging_attempt",
}
SIZE = 30_000


@pytest.fixture(scope="module")
def grown(django_db_setup: None, django_db_blocker: Any) -> Iterator[GrownStudy]:
    """One study for all tests of this file; what a test changes is rolled back."""
    with django_db_blocker.unblock():
        study = grow(SIZE)
        with connection.cursor() as cursor:
            # As autovacuum leaves tables: else a count from an index reads rows that nobody sees.
            cursor.execute("VACUUM")
        yield study
        call_command("flush", interactive=False, verbosity=0)
    cache.clear()


@pytest.fixture(scope="module")
def small_and_large(module_db: None) -> tuple[GrownStudy, GrownStudy]:
    return grow(300, slug="small"), grow(1_500, slug="large")


def scans(plan: dict[str, Any], *, limited: bool = False) -> Iterator[str]:
    """The tables that a plan reads from end to end, or in the order of an index to no limit."""
    kind = plan["Node Type"]
    ordered = kind in ("Index Scan", "Index Only Scan") and "Index Cond" not in plan
    if kind == "Seq Scan" or (ordered and not limited):
        yield plan["Relation Name"]
    for part in plan.get("Plans", []):
        yield from scans(part, limited=limited or kind == "Limit")


def read_whole(work: Callable[[], object], *, random_page_cost: float = 1.1) -> set[str]:
    """The growing tables that the queries of `work` read from end to end, with the query.

    By default on a disk that is as fast at any place; otherwise small tables are read whole.
    """
    found = set()
    explains = False

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal explains
        if not explains and sql.startswith(("SELECT", "UPDATE", "DELETE", "EXECUTE")):
            explains = True
            # A query of an iterator has a cursor, which PostgreSQL plans for its first rows.
            named = getattr(context["cursor"].cursor, "name", None)
            declared = "DECLARE explained CURSOR FOR " if named else ""
            for each in re.split(";(?=EXECUTE )", sql):  # statements that are sent together
                with connection.cursor() as cursor:
                    cursor.execute(f"EXPLAIN (FORMAT JSON) {declared}{each}", params)
                    (plan,) = cursor.fetchone()
                plan = json.loads(plan) if isinstance(plan, str) else plan
                for table in scans(plan[0]["Plan"]):
                    if table in GROWING:
                        found.add(f"{table}: {each % tuple(params or ())}")
            explains = False
        return execute(sql, params, many, context)

    with connection.cursor() as cursor:
        # Plans follow statistics: these tables are counted now, whatever ran before or beside it.
        cursor.execute("SET LOCAL default_statistics_target = 10")
        cursor.execute(f"ANALYZE {', '.join(sorted(GROWING))}")
        cursor.execute(f"SET LOCAL random_page_cost = {random_page_cost}")
        # The plan of a prepared statement for any values: in use, PostgreSQL may change to it.
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    with connection.execute_wrapper(explain):
        work()
    return found


def take_part(grown: GrownStudy) -> None:
    """Seats, an answer, a time-out, the return, and the end by the annotator."""
    annotator = services.enter(study=grown.study, pid="somebody", session_id="s")
    services.consent(annotator_id=annotator.pk, version="v1")
    services.finish_instructions(annotator_id=annotator.pk)
    answer_item(
        annotator.assignments.earliest("position"),
        choice="r1",
        certainty=60,
    )
    services.time_out(annotator_id=annotator.pk)
    services.resume(annotator_id=annotator.pk)
    services.withdraw(annotator_id=annotator.pk)


def open_items(grown: GrownStudy) -> None:
    client = Client()
    client.get(f"/s/{grown.study.slug}/", {"PROLIFIC_PID": "p", "STUDY_ID": "s", "SESSION_ID": "s"})
    client.post(f"/s/{grown.study.slug}/consent/", {"consent": "yes"})
    client.post(f"/s/{grown.study.slug}/instructions/")
    assert client.get(f"/s/{grown.study.slug}/task/1/").status_code == 200


def recover(grown: GrownStudy) -> None:
    claim(grown)
    assert run_states.release_expired() == {grown.run.pk: 50}


def claim(grown: GrownStudy) -> None:
    until = timezone.now() - timedelta(seconds=1)
    assert len(chunks.claim(grown.run, secrets.token_hex(16), most=50, until=until)) == 50


def find_answers(grown: GrownStudy) -> None:
    """Twenty questions of another run, whose answers are looked for in all runs."""
    judge = grown.run.judge
    run = JudgeRun(study=grown.study, judge=judge, setting=grown.run.setting, seed=1)
    run.reading = grown.run.reading
    items = Item.objects.filter(study=grown.study).order_by("key")[:20]
    waiting = [Judgment(run=run, item=item, shown_first="r1") for item in items]
    with CaptureQueriesContext(connection) as queries:
        reuse.take_over(run, waiting, Reuse.SAME_PROMPT)
    assert any("prompt_sha256" in query["sql"] for query in queries)


PARTS: dict[str, Callable[[GrownStudy], object]] = {
    "an annotator's part": take_part,
    "the item page": open_items,
    "the sweep of expired seats": lambda grown: services.release_expired(),
    "a worker's claim": claim,
    "the end of a chunk": lambda grown: run_states.end_if_done(run_id=grown.run.pk),
    "the recovery of leases": recover,
    "answers to the same prompts": find_answers,
    "the tokens of a run": lambda grown: tasks.call_workers(grown.run),
}


@pytest.mark.parametrize("part", PARTS)
def test_hot_queries_read_no_growing_table_from_end_to_end(grown, part):
    assert read_whole(lambda: PARTS[part](grown)) == set()


PAGES = {
    "list of annotators": "people/",
    "last page of annotators": "people/?page=9999",
    "an annotator": "people/annotator/?rater=P-7",
    "places": "people/places/",
    "items": "items/",
    "last page of items": "items/?page=9999",
    "panel of judges": "judges/list/panel/",
    "study": "",
    "run": "judges/{run}/",
    "last page of a run": "judges/{run}/?page=9999",
    "panel of a run": "judges/{run}/panel/",
}


def opened(grown: GrownStudy, page: str) -> Callable[[], object]:
    """Opening the page as the study's owner; the first time, counts are kept."""
    client = Client()
    client.force_login(grown.owner)
    address = f"/studies/{grown.study.slug}/{PAGES[page].format(run=grown.run.public_id)}"

    def open_page() -> None:
        assert client.get(address).status_code == 200

    open_page()
    return open_page


@pytest.mark.parametrize("page", PAGES)
def test_pages_read_no_growing_table_from_end_to_end(grown, page, monkeypatch):
    monkeypatch.setattr(kept_figures, "LARGE", 100)
    monkeypatch.setattr(kept_figures, "SECONDS", 3600)  # also on a machine that is slow
    monkeypatch.setattr(responses, "LARGE", 100)
    # As small a part of this study as a page is of a large one.
    monkeypatch.setattr(views, "_PER_PAGE", 5)

    assert read_whole(opened(grown, page)) == set()


@pytest.mark.sampled(keep=6)
@pytest.mark.parametrize("page", PAGES)
def test_pages_cost_the_same_queries_in_a_study_of_any_size(
    small_and_large, page, django_assert_max_num_queries
):
    small, large = (opened(study, page) for study in small_and_large)

    with CaptureQueriesContext(connection) as needed:
        small()

    with django_assert_max_num_queries(len(needed)):
        large()


def test_a_page_of_a_long_list_has_the_same_rows_from_either_end(grown, monkeypatch):
    monkeypatch.setattr(responses, "LARGE", 100)
    items = Item.everything.filter(study=grown.study).order_by("key")

    pages = LongList(items, 50, name="items", key=grown.study.pk)

    assert pages.num_pages == SIZE / 50
    for number in (1, 2, 300, 301, pages.num_pages):
        first = 50 * (number - 1)
        assert list(pages.page(number)) == list(items[first : first + 50])
