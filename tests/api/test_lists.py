"""Lists: every row once, page by page, with the same number of queries however many there are."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from analysis.models import Export, Report
from judging.models import Judge, JudgeRun, Judgment
from studies.models import ImportJob, Item
from tests.api.conftest import program
from tests.factories import answer_all, make_items, make_study, walk_in

pytestmark = pytest.mark.django_db


def walk(who, path, limit):
    """Every row of a list, page by page."""
    rows: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = who.get(f"{path}?limit={limit}&cursor={cursor}").json()
        assert len(page["data"]) <= limit
        rows, cursor = rows + page["data"], page["next"]
    return rows


@pytest.fixture
def study(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    return make_study(slug="s", items_per_annotator=3)


def add_items(study, n):
    make_items(study, n)


def add_people(study, n):
    if not Item.objects.filter(study=study).exists():
        make_items(study, 3, seats_needed=1_000)
    for _ in range(n):
        answer_all(walk_in(study))


def judge_of(study):
    return Judge.objects.get_or_create(name="j", model="m", base_url="http://127.0.0.1:9/v1")[0]


def add_runs(study, n):
    begun = study.judge_runs.count()
    for number in range(begun, begun + n):
        JudgeRun.objects.create(
            study=study, judge=judge_of(study), key=f"k{number}", seed=1, public_id=f"r{number}"
        )


def add_judgments(study, n):
    if not study.judge_runs.exists():
        add_runs(study, 1)
    Judgment.objects.bulk_create(
        Judgment(
            run=study.judge_runs.get(),
            item=item,
            shown_first="r1",
            sample=sample,
            state="done",
            choice="r1",
            replies=1,
            answered_at=study.created_at,
        )
        for item in make_items(study, n // 2)
        for sample in (1, 2)
    )


def add_reports(study, n):
    begun = study.reports.count()
    for number in range(begun + 1, begun + 1 + n):
        Report.objects.create(study=study, number=number, seed=1, threshold=80, bootstrap=100)


def add_exports(study, n):
    for _ in range(n):
        Export.objects.create(study=study, what="all", format="jsonl")


def add_imports(study, n):
    for _ in range(n):
        ImportJob.objects.create(study=study, file_name="f", task="preference")


def add_judges(study, n):
    begun = Judge.objects.count()
    for number in range(begun, begun + n):
        Judge.objects.create(name=f"judge-{number:04}", model="m", base_url="http://127.0.0.1:9")


LISTS = {
    "items": add_items,
    "annotators": add_people,
    "answers": add_people,
    "runs": add_runs,
    "runs/r0/judgments": add_judgments,
    "reports": add_reports,
    "exports": add_exports,
    "imports": add_imports,
    "judges": add_judges,
}


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize("path", LISTS)
def test_every_row_is_on_one_page(study, path):
    owner = program(study, "owner")
    LISTS[path](study, 6)

    whole = owner.get(f"studies/s/{path}?limit=500").json()

    assert whole["next"] is None
    assert len(whole["data"]) >= 6
    assert walk(owner, f"studies/s/{path}", 4) == whole["data"]
    assert walk(owner, f"studies/s/{path}", 1) == whole["data"]


@pytest.mark.parametrize("path", LISTS)
def test_a_page_costs_the_same_number_of_queries_for_few_and_many_rows(study, path):
    owner = program(study, "owner")
    LISTS[path](study, 2)
    owner.get(f"studies/s/{path}")  # the first use of a day is stored

    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            assert owner.get(f"studies/s/{path}").status_code == 200
        return len(found)

    before = queries()
    LISTS[path](study, 10)

    assert queries() == before <= 15


def test_items_are_numbered_across_pages(study):
    owner = program(study, "owner")
    make_items(study, 1, seats_needed=100)
    study.items_per_annotator = 1
    study.save()
    for _ in range(3):
        answer_all(walk_in(study))

    assert [row["slot"] for row in walk(owner, "studies/s/answers", 1)] == [1, 2, 3]
