"""Thirdperson with the study of the workload, on a database that every start gets fresh."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import psycopg2

from benchmarks.load.client import ServerProcess

_ROOT = Path(__file__).resolve().parent.parent
SLUG = "bench"
_SET_UP = f"""
import django
django.setup()
from django.core.management import call_command
from django.db import connection
from config.migrate import migrate
migrate()
call_command("collectstatic", interactive=False, verbosity=0)
from benchmarks import _workload as workload
from studies.models import Item, Persona, Study
import sys
study = Study.objects.create(
    slug="{SLUG}", title="Benchmark", state="open", is_simulated=True,
    items_per_annotator=workload.PER_ANNOTATOR, annotations_per_item=workload.PER_ITEM,
)
rows = workload.items(int(sys.argv[1]))
personas = {{row["persona_key"]: row["persona"] for row in rows}}
stored = {{persona.key: persona for persona in Persona.objects.bulk_create(
    Persona(study=study, key=key, features=[
        {{**feature, "text": feature["label"] + ": " + feature["value"]}} for feature in features
    ]) for key, features in personas.items()
)}}
Item.everything.bulk_create(
    Item(study=study, persona=stored[row["persona_key"]], key=row["id"], question=row["question"],
         r1={{"text": row["r1"]}}, r2={{"text": row["r2"]}}, first_person="r1",
         seats_needed=workload.PER_ITEM, content_hash=row["id"].rjust(64, "0"))
    for row in rows
)
if connection.vendor == "postgresql":
    connection.cursor().execute("ANALYZE")
"""
_COMMAND = """
import json, sys
from config.processes import web_command
print(json.dumps(web_command(port=int(sys.argv[1]))))
"""
_COUNT = """
import django
django.setup()
from annotation.models import Annotation
from studies.models import Item
print(Annotation.objects.count(), Item.objects.filter(answered__gt=3).count())
"""


class Installation:
    """An installation with the workload's study.

    `server` is the URL of a PostgreSQL that databases can be created in; without it the database
    is an SQLite file in `folder`. `environment` has further settings. `root` is the checkout that
    is installed, by default this one; its server has the flags that its own `make run` gives it.
    Two on one server need other names for their `databases`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        port: int,
        server: str = "",
        items: int = 1000,
        environment: Mapping[str, str] | None = None,
        root: Path = _ROOT,
        databases: str = "thirdperson_benchmark",
    ) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._port, self._folder, self._server, self._root = port, folder, server, root
        self._used, self._full = databases, f"{databases}_full"
        self._environment = {
            name: value for name, value in os.environ.items() if name != "DATABASE_URL"
        } | {
            "VAR_DIR": str(folder),
            "DJANGO_SETTINGS_MODULE": "config.settings.base",
            "SECRET_KEY": "benchmark-" + "0" * 50,
            "PUBLIC_BASE_URL": self.url,
            **(environment or {}),
        }
        if server:
            execute(
                self._server,
                f"DROP DATABASE IF EXISTS {self._full}",
                f"DROP DATABASE IF EXISTS {self._used}",
            )
            execute(self._server, f"CREATE DATABASE {self._full}")
        self.prepare(_SET_UP, str(items))

    def prepare(self, code: str, *arguments: str) -> str:
        """Run Python on the data that every start copies, and return what it prints."""
        printed = self._python(code, *arguments, database=self._full)
        if not self._server:
            shutil.copy(self._file, f"{self._file}.full")
        return printed

    def ask(self, code: str) -> str:
        """Run Python on the data of the last start, and return what it prints."""
        return self._python(code, database=self._used)

    def start(self) -> ServerProcess:
        """The web server, on a fresh copy of the database, with all its workers warm."""
        if self._server:
            execute(
                self._server,
                f"DROP DATABASE IF EXISTS {self._used}",
                f"CREATE DATABASE {self._used} TEMPLATE {self._full}",
            )
        else:
            for path in self._file.parent.glob(f"{self._file.name}-*"):
                path.unlink()
            shutil.copy(f"{self._file}.full", self._file)
        return self.restart()

    def restart(self) -> ServerProcess:
        """The web server on the database as it is."""
        command = json.loads(self._python(_COMMAND, str(self._port), database=self._used))
        server = ServerProcess(command, cwd=self._root, env=self._with_database(self._used))
        server.wait_until_ready(f"{self.url}/s/{SLUG}/", requests=40)
        return server

    def counts(self) -> tuple[int, int]:
        """The number of stored answers, and of items with more than three."""
        stored, above = self.ask(_COUNT).split()
        return int(stored), int(above)

    @property
    def _file(self) -> Path:
        return self._folder / "thirdperson.sqlite3"

    def _with_database(self, name: str) -> dict[str, str]:
        if not self._server:
            return self._environment
        return self._environment | {"DATABASE_URL": database_url(self._server, name)}

    def _python(self, code: str, *arguments: str, database: str) -> str:
        return subprocess.run(  # noqa: S603
            [sys.executable, "-c", code, *arguments],
            cwd=self._root,
            env=self._with_database(database),
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout


def database_url(server: str, name: str) -> str:
    """The URL of another database of a PostgreSQL."""
    base, _, query = server.partition("?")
    return f"{base.rpartition('/')[0]}/{name}" + (f"?{query}" if query else "")


def execute(server: str, *statements: str) -> None:
    with closing(psycopg2.connect(server)) as connection:
        connection.autocommit = True
        for statement in statements:
            connection.cursor().execute(statement)


def postmaster(server: str) -> int:
    """The main process of a PostgreSQL on this machine."""
    with closing(psycopg2.connect(server)) as connection:
        backend = connection.info.backend_pid
        return int(Path(f"/proc/{backend}/stat").read_text().rpartition(")")[2].split()[1])
