"""The embedded default: SQLite in a file, several processes, many threads."""

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.migrated import copy_migrated

ROOT = Path(__file__).resolve().parents[2]

SET_UP = """
import os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.test"
django.setup()
from tests.factories import make_items, make_study
make_items(make_study(slug="embedded", items_per_annotator=6, annotations_per_item=3), 30)
"""


@pytest.mark.slow
@pytest.mark.sqlite
def test_fifteen_people_in_three_processes_fill_every_seat_and_no_database_is_locked(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    environment |= {"VAR_DIR": str(tmp_path), "PYTHONWARNINGS": "error"}
    copy_migrated(tmp_path)
    subprocess.run([sys.executable, "-c", SET_UP], cwd=ROOT, env=environment, check=True)

    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.annotation.sqlite_arrivals", "embedded", *span],
            cwd=ROOT,
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for span in (("0", "5"), ("5", "10"), ("10", "15"))
    ]
    errors = [process.communicate(timeout=200)[1] for process in processes]

    assert "".join(errors) == ""
    assert [process.returncode for process in processes] == [0, 0, 0]
    with sqlite3.connect(tmp_path / "thirdperson.sqlite3") as database:
        seats = database.execute("SELECT seats_taken, answered FROM studies_item").fetchall()
        people = database.execute(
            "SELECT annotator_id, item_id FROM annotation_assignment WHERE NOT is_surplus"
        ).fetchall()
        states = database.execute("SELECT DISTINCT state FROM annotation_annotator").fetchall()
    database.close()
    assert Counter(seats) == {(3, 3): 30}
    assert set(Counter(person for person, _ in people).values()) == {6}
    assert len(set(people)) == 90
    assert states == [("completed",)]
