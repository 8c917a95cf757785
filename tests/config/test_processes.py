"""What an installation runs."""

import os
import subprocess
import sys

from django.conf import settings

from config import env, processes
from config.processes import all_commands
from tests.management import ROOT


def test_the_workers_serve_every_queue_and_one_of_them_keeps_the_schedule():
    workers = list(all_commands()["worker"].values())

    served = [command[command.index("--queues") + 1] for command in workers]
    assert sorted(served) == sorted(settings.CELERY_TASK_QUEUES)
    assert sum("--beat" in command for command in workers) == 1


def test_a_process_knows_that_its_starter_is_gone(monkeypatch):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()

    for starter, is_alone in ((str(gone.pid), True), (str(os.getpid()), False), ("", False)):
        monkeypatch.setenv("PROCESS_STARTED_BY", starter)
        assert processes.is_orphaned() == is_alone


def test_the_port_may_be_set_in_the_dotenv_file(tmp_path, monkeypatch):
    (tmp_path / ".env").write_text("PORT=8123\n")
    monkeypatch.setattr(env, "DOTENV", tmp_path / ".env")
    monkeypatch.setattr("sys.argv", ["processes", "nothing"])
    monkeypatch.setattr(env.Env, "ENVIRON", {})

    processes.main()

    assert "127.0.0.1:8123" in all_commands()["web"]["web"]


def test_an_invalid_port_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(env, "DOTENV", tmp_path / ".env")
    monkeypatch.setenv("PORT", "many")

    assert processes.main() == 2
    assert capsys.readouterr().err == "PORT must be a whole number from 1 to 65535, not “many”.\n"


def test_make_run_needs_no_variable_that_names_the_settings(tmp_path):
    environment = {**os.environ, "DATABASE_URL": "", "VAR_DIR": str(tmp_path)}
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    command = [sys.executable, "-m", "config.processes", "nothing"]

    refused = subprocess.run(
        command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    )

    assert refused.stderr == "There is no process “nothing”. Use web, worker or both.\n"
