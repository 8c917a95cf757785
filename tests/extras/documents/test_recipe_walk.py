"""The paper's study again, by commands: from a file like PRISM to the article's tables."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from studies.models import Item
from tests.analysis.test_real_files import answers
from tests.judging.conftest import engine, llm, make_judge
from tests.judging.llm_server import completion
from tests.studies.sets.made import fixture

__all__ = ["engine", "llm"]
pytestmark = [pytest.mark.server, pytest.mark.django_db(transaction=True)]


def run(name: str, *arguments: object) -> str:
    out = StringIO()
    call_command(name, *map(str, arguments), stdout=out, stderr=out)
    return out.getvalue()


def test_a_file_goes_to_the_articles_tables_by_the_preset(llm, engine, tmp_path: Path):
    make_judge(name="one", base_url=llm.url)
    llm.answer = lambda body, number: completion("[[AB]] [[90]]".replace("AB", "AB"[number % 2]))
    run("create_study", "again", "--preset", "personalized-judge", "--draft")
    run("import_items", "again", fixture("prism"), "--format", "prism")
    items = list(Item.objects.order_by("key"))

    started = run("campaign", "again", "--planned", "--judge", "one", "--inline")
    run("import_annotations", "again", answers(items, tmp_path))
    run("report", "again", "--out", tmp_path / "report", "--bootstrap", 100)
    run("tables", "again", "--out", tmp_path / "tables")

    # Four runs with certainty and one with ties, each in both orders.
    assert len(llm.requests) == len(items) * 2 * 5
    assert "of 4 runs are finished" in started
    report = json.loads((tmp_path / "report" / "report.json").read_text("utf-8"))
    assert report["inputs"]["annotations"] == 3 * len(items)
    tables = {n: (tmp_path / "tables" / f"table_{n}.md").read_text("utf-8") for n in range(1, 9)}
    assert "No tie one" in tables[1]
    assert "With tie one" in tables[1]
    rows = [line.split("|")[1].strip() for line in tables[4].splitlines() if line[:1] == "|"]
    assert rows[2:] == ["All features", "Three features", "Education"]
    assert "Third person" in tables[5]
    assert "one without" in tables[8]
