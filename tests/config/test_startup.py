"""What a process imports, and when: pages and `--help` wait for it, and every worker keeps it."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.migrated import copy_migrated

ROOT = Path(__file__).resolve().parents[2]
# Statistics, plots, HTTP clients, files for exports: imported where the work is done.
HEAVY = """
    boto3 botocore cryptography httpcore2 httpx2 krippendorff matplotlib numpy openai pandas plotly
    pyarrow redis requests scipy storages torch transformers xlsxwriter
""".split()
NOTE = f"""
import sys

import django

django.setup()
found = {{}}


def note(step):
    for name in {HEAVY}:
        if name in sys.modules:
            found.setdefault(name, step)


note("django.setup()")
"""
COMMANDS = """
from importlib import import_module

from django.core.management import call_command, get_commands, load_command_class

call_command("check")
note("manage.py check")
names = sorted(name for name, app in get_commands().items() if not app.startswith("django."))
for name in names:
    load_command_class(get_commands()[name], name).create_parser("", name).format_help()
    note(f"manage.py {name} --help")
assert len(names) > 10
import_module("config.wsgi")
note("config.wsgi")
import_module("studies.file_storage.storage").Stored("reports/none").files()
note("files, which are in no bucket")
"""
PARTICIPANT = """
from django.test import Client

from annotation.content.comprehension import set_questions, standard_questions
from tests.annotation.pages.walking import answer_all, arrive
from tests.factories import make_item, make_items, make_study

study = make_study(items_per_annotator=2)
make_items(study, 2)
make_item(study=study, split="practice", key="try")
set_questions(study_id=study.pk, questions=standard_questions(study))
note("setting up a study")
client = Client(headers={"host": "localhost"})
arrive(study, client=client)
note("the entry")
home = f"/s/{study.slug}/"


def go(method, path, data=None):
    response = getattr(client, method)(home + path, data)
    assert response.status_code in (200, 204, 303), (path, response.status_code)
    note(f"{method} {path}")
    return response


go("get", "consent/")
go("get", "consent/copy/")
go("post", "consent/", {"consent": "yes"})
go("get", "instructions/")
go("post", "instructions/")
for question in study.comprehension_questions.order_by("position"):
    go("get", f"quiz/{question.position}/")
    go("post", f"quiz/{question.position}/", {"answer": str(question.right)})
go("get", "practice/")
go("post", "practice/", {"choice": "a", "certainty": "50"})
go("get", "practice/")
go("post", "practice/", {"understood": "try"})
go("get", "help/")
go("get", "about/")
answer_all(client, study)
note("the items")
go("post", "feedback/", {"comments": ""})
go("get", "done/")
"""
RESEARCHER = """
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver

from studies.models import Membership
from tests.factories import make_study



def addresses(patterns, start=""):
    # Addresses below that of a study that need no other name.
    for pattern in patterns:
        address = start + str(pattern.pattern)
        if hasattr(pattern, "url_patterns"):
            yield from addresses(pattern.url_patterns, address)
        elif address.startswith("studies/<slug:slug>/") and address.count("<") == 1:
            yield address.replace("<slug:slug>", study.slug)


study = make_study()
user = User.objects.create_user("researcher", password="a long password")
Membership.objects.create(user=user, study=study, role="owner")
client = Client(headers={"host": "localhost"})
client.post("/accounts/login/", {"username": "researcher", "password": "a long password"})
note("signing in")
seen = 0
for page in addresses(get_resolver().url_patterns):
    seen += client.get(f"/{page}").status_code == 200
    note(page)
# Those of the core; each extra adds some.
assert seen > 30, seen
"""
SAY = """
import json

print(json.dumps(found))
"""


def first_imports(script: str, **environment: str) -> dict[str, str]:
    """The heavy packages that a new process imports, each with the first step that needs it."""
    done = subprocess.run(
        [sys.executable, "-c", NOTE + script + SAY],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_no_heavy_packages_are_loaded_by_pages_or_by_the_help_of_commands(tmp_path):
    copy_migrated(tmp_path)
    local = {"VAR_DIR": str(tmp_path), "DATABASE_URL": "", "CELERY_BROKER_URL": ""}

    found = first_imports(PARTICIPANT + COMMANDS + RESEARCHER, **local)

    # The first page that queues work loads the client of the broker, and with it these.
    for name in ("cryptography", "redis"):
        if found.get(name, "").startswith("studies/"):
            del found[name]
    assert found == {}


CHECK = """
import csv
import sys

from thirdperson.cli import main

with open("labels.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["item", "human_1", "human_2", "human_3", "judge", "gold"])
    for n in range(60):
        right = n % 2 + 1
        writer.writerow([n, right, right, 3 - right if n % 5 == 0 else right, right, right])

def check(*options):
    assert main(["check", "labels.csv", "--json", *options]) in (0, 3)


check("--doctor")
check("--level", "ordinal")
undrawn = [name for name in ("narwhals", "plotly") if name in sys.modules]
check()
check("--people", "human_1,human_2,human_3,gold")
assert "plotly" in sys.modules  # it has drawn
names = "celery django.db.models django.http matplotlib openai pyarrow requests scipy.stats".split()
print(undrawn + [name for name in names if name in sys.modules])
"""


def test_a_check_of_a_table_loads_nothing_of_the_server(tmp_path):
    """Nor what takes long to load: it is called once for each table."""
    done = subprocess.run(
        [sys.executable, "-c", CHECK],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout.splitlines() or [done.stderr])[-1] == "[]"


def test_a_process_that_first_needs_a_task_has_the_app_that_queues_it(tmp_path):
    code = (
        "import django; django.setup(); from studies.tasks import import_file;"
        "print(import_file.app.main, hasattr(import_file, 'delay_on_commit'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ
        | {"PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "config.settings.dev"}
        | {"VAR_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["thirdperson", "True"]
