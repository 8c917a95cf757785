"""The command `benchmarks.load`, against a real web server."""

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.models import (
    Annotation,
    Annotator,
    ComprehensionQuestion,
    DemographicQuestion,
    QuotaGroup,
)
from annotation.participants import item_views
from benchmarks.load import measurement, participants
from benchmarks.load.command import Command
from studies.models import Item, Study
from tests.factories import make_item, make_items, make_study, walk_in
from tests.migrated import copy_migrated

ROOT = Path(__file__).resolve().parents[3]
SHORT = ("--seconds", "1", "--think", "0.05")
OWN_SERVER = """
import sys, django
django.setup()
from django.core.management import call_command
from benchmarks.load.command import Command
from tests.factories import make_items, make_study
make_items(make_study(slug="small", items_per_annotator=2), 2)
call_command(Command(), "small", "--people", "2", "--json", *sys.argv[1:])
"""


def load_test(*arguments):
    out = StringIO()
    call_command(Command(), *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_the_script_accepts_what_the_pages_offer():
    assert participants.ITEM == item_views.ITEM


@pytest.mark.nightly
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("path", "perspective"), [((), "persona"), (("--without-javascript",), "own")]
)
def test_two_people_go_through_every_step_of_a_copy(live_server, monkeypatch, path, perspective):
    monkeypatch.setattr(measurement, "LIMIT_MS", 60_000)
    study = make_study(
        slug="whole", items_per_annotator=2, annotations_per_item=1, perspective=perspective
    )
    make_items(study, 2)
    make_item(study=study, split=Item.Split.PRACTICE)
    make_item(
        study=study, split=Item.Split.ATTENTION_CHECK, check_answer="r1", check_instruction="A"
    )
    DemographicQuestion.objects.create(
        study=study, key="sex", label="Sex", options=[{"value": "f", "label": "Female"}]
    )
    group = QuotaGroup.objects.create(study=study, is_everyone_else=True, target=1)
    for position in (1, 2):
        ComprehensionQuestion.objects.create(
            study=study, text="?", options=["a", "b"], right=1, pointer=".", position=position
        )

    result = json.loads(
        load_test("whole", "--people", "2", "--url", live_server.url, "--json", *SHORT, *path)
    )

    (step,) = result["steps"]
    assert result["people_carried"] == step["people"] == 2
    assert step["answers"] > 0
    assert step["errors"] == {}
    assert list(Study.objects.all()) == [study]
    assert not Annotator.objects.exists()
    assert not Annotation.objects.exists()
    assert set(study.all_items.values_list("seats_taken", "answered")) == {(0, 0)}
    group.refresh_from_db()
    assert (group.reserved, group.completed, group.target) == (0, 0, 1)


@pytest.mark.django_db(transaction=True)
def test_after_ctrl_c_only_the_copy_is_gone(live_server, monkeypatch):
    study = make_study(slug="interrupted")
    make_items(study, 3)
    annotator = walk_in(study)

    def interrupt(scenario, **_):
        walk_in(Study.objects.get(slug=scenario.options["slug"]))
        raise KeyboardInterrupt

    monkeypatch.setattr(measurement, "measure", interrupt)

    with pytest.raises(KeyboardInterrupt):
        load_test("interrupted", "--url", live_server.url)

    assert list(Study.objects.all()) == [study]
    assert list(Annotator.objects.all()) == [annotator]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none",), "There is no study “none”"),
        (("empty",), "“empty” has no items for annotators. Import items first."),
        (("empty", "--url", "http://example.org"), "is not a web server on this machine"),
        (("empty", "--url", "https://127.0.0.1:8000"), "is not a web server on this machine"),
        (("full", "--url", "http://127.0.0.1:9"), "Nothing answers at http://127.0.0.1:9."),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments, message):
    make_study(slug="empty")
    make_items(make_study(slug="full"), 1)

    with pytest.raises(CommandError, match=message):
        load_test(*arguments)

    assert set(Study.objects.values_list("slug", flat=True)) == {"empty", "full"}


@pytest.mark.django_db
def test_a_server_with_another_database_is_refused(other_site):
    make_items(make_study(slug="here"), 1)

    with pytest.raises(CommandError, match="uses a different database"):
        load_test("here", "--url", other_site)


@pytest.fixture
def other_site():
    """A web server that knows no study."""
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().split("(")[1].split("/)")[0]
        process.terminate()


@pytest.mark.nightly
@pytest.mark.slow
def test_the_command_starts_a_server_of_its_own(tmp_path):
    copy_migrated(tmp_path)
    environment = os.environ | {"VAR_DIR": str(tmp_path), "DATABASE_URL": ""}
    environment["DJANGO_SETTINGS_MODULE"] = "config.settings.dev"

    command = [sys.executable, "-c", OWN_SERVER, *SHORT]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    (step,) = json.loads(result.stdout)["steps"]
    assert (step["people"], step["errors"]) == (2, {})
    assert step["cpu_ms_per_answer"] > 0
