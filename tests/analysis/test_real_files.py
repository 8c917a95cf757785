"""Files of other hands the whole way: items, judgments, people, report, tables, verification.

The files released with the paper may not be part of this project. They are tested where
THIRDPERSON_PAPER_OUTPUTS names the folder that holds them; the small files in the shapes of three
data sets always are.
"""

import csv
import json
import os
import random
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from studies.importers.sets import data_sets
from studies.models import Item
from tests.analysis.builders import assert_verified
from tests.studies.sets.made import fixture

RELEASED = os.environ.get("THIRDPERSON_PAPER_OUTPUTS")
FILES = sorted(Path(RELEASED).glob("*.jsonl")) if RELEASED else []
NATIVE = [name for name in ("prism", "opinionqa", "ec") if name in data_sets()]
# Items that people answered; None is all of them. A small file has a third for “some”.
ANSWERED = {"nobody": 0, "some": 45, "everybody": None}

pytestmark = pytest.mark.django_db


def run(name, *arguments):
    out = StringIO()
    call_command(name, *map(str, arguments), stdout=out, stderr=StringIO())
    return out.getvalue()


def write_rows(path: Path, rows: list[dict]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def answers(items: list[Item], folder: Path) -> Path:
    """Three answers to each item, of people who differ in skill, in load and in certainty."""
    rng = random.Random(1)
    rows = []
    for item in items:
        for rater in rng.sample(range(24), 3) if rng.random() < 0.7 else range(3):
            is_right = rng.random() < 0.45 + rater / 50
            choice = item.first_person if is_right else rng.choice(["r1", "r2"])
            certainty = min(100, rng.randint(40, 90) + rater)
            rows.append(
                {
                    "rater_id": f"person-{rater}",
                    "item_id": item.key,
                    "choice": choice if choice in ("r1", "r2") else "r1",
                    "certainty": certainty,
                }
            )
    return write_rows(folder / "answers.csv", rows)


def judgments(items: list[Item], folder: Path) -> Path:
    rng = random.Random(2)
    rows = [
        {
            "item_id": item.key,
            "choice": rng.choice(["r1", "r2"]),
            "certainty": rng.choice([60, 80, 95]),
            "shown_first": rng.choice(["r1", "r2"]),
        }
        for item in items
    ]
    return write_rows(folder / "judgments.csv", rows)


def go_the_whole_way(slug: str, answered: str, folder: Path, judged: Path | None) -> dict:
    items = list(Item.objects.filter(study__slug=slug).order_by("key"))
    run("import_judgments", slug, judged or judgments(items, folder), "--judge", "judge")
    n = ANSWERED[answered]
    few = items if n is None else items[: min(n, len(items) // 3)]
    if few:
        run("import_annotations", slug, answers(few, folder))

    out = folder / "report"
    run("report", slug, "--out", out, "--bootstrap", 100)

    report = json.loads((out / "report.json").read_text("utf-8"))
    page = (out / "report.html").read_text("utf-8")
    assert "failed_parts" not in report
    assert "could not be made" not in page
    assert report["inputs"]["items"] == report["inputs"]["judgments"] == len(items)
    assert report["inputs"]["annotations"] == 3 * len(few)
    assert len(list((out / "tables").glob("*.csv"))) > 10
    assert_verified(out)
    return report


@pytest.mark.sampled(keep=4)
@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize("answered", ANSWERED)
def test_a_small_file_in_the_shape_of_a_data_set_goes_the_whole_way(name, answered, tmp_path):
    given = fixture(name)
    run("import_items", name, given, "--format", name, "--create")

    report = go_the_whole_way(name, answered, tmp_path, None)

    assert report["judges"][0]["items"] == report["inputs"]["items"] > 0


if FILES:

    def released(file: Path, answered: str, folder: Path) -> dict:
        run("import_items", "paper", file, "--format", "personalized-judge", "--create")
        return go_the_whole_way("paper", answered, folder, file)

    @pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
    def test_a_released_file_goes_the_whole_way_without_people(file, tmp_path):
        report = released(file, "nobody", tmp_path)

        assert report["judges"][0]["accuracy"] is not None

    @pytest.mark.slow
    @pytest.mark.sampled(keep=1)
    @pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
    @pytest.mark.parametrize("answered", ["some", "everybody"])
    def test_a_released_file_goes_the_whole_way_with_people(file, answered, tmp_path):
        report = released(file, answered, tmp_path)

        assert report["human"]["majority"]["n"] > 0
