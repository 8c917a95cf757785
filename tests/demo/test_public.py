"""The public demo: visitors get in, change nothing that lasts, and a day follows the other."""

import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from config.processes import ProcessDied
from demo import public
from demo.studies import MAIN
from demo.visitors import let_in
from deploy.follow_dockerfile import instructions
from studies.models import Membership, SecondStep
from tests.factories import make_study

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.django_db
def test_visitors_are_editors_and_get_in_again_after_one_changed_the_password():
    study, other = make_study(slug=MAIN), make_study(slug="own")
    let_in("visitor", "open")
    user = User.objects.get()
    user.set_password("mine")
    user.is_superuser = True
    user.save()
    SecondStep.objects.create(user=user, secret="s")
    Membership.objects.update(role=Membership.Role.VIEWER)

    let_in("visitor", "open")

    user = User.objects.get()
    assert user.check_password("open")
    assert (user.is_staff, user.is_superuser) == (False, False)
    assert user.has_perm("studies.add_study")
    assert not SecondStep.objects.exists()
    assert list(Membership.objects.values_list("study", "role")) == [(study.pk, "editor")]
    assert not other.memberships.exists()


class Clock:
    """Time that passes while somebody sleeps."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += 300 * seconds
        if self.now > 2.2 * 24 * 3600:
            raise KeyboardInterrupt


@pytest.fixture
def days(tmp_path, monkeypatch):
    """Days whose demos build at once and whose processes only wait."""
    done = []
    clock = Clock()
    monkeypatch.setattr(public, "time", clock)

    class Built:
        def __init__(self, command, *, env):
            done.append(("build", env["PORT"], clock.now))
            Path(env["VAR_DIR"], "secret_key").write_text("k")
            self.returncode = 0

        def wait(self):
            return 0

        def terminate(self):
            done.append(("stopped",))

    class Served:
        def __init__(self, environment=None):
            self.folder = Path(environment["VAR_DIR"]).name if environment else ""

        def start(self, name, command):
            done.append(("start", self.folder, command[-1]))

        def wait_healthy(self, url):
            assert url == "http://127.0.0.1:8000"

        def check(self):
            pass

        def stop(self):
            done.append(("stop", self.folder))

    monkeypatch.setattr(public.subprocess, "Popen", Built)
    monkeypatch.setattr(public.subprocess, "run", lambda *a, **k: done.append(("visitor", k)))
    monkeypatch.setattr(public, "Processes", Served)
    return public.Days(tmp_path, port=8000, public="https://demo.example.org", password="p"), done


def test_every_day_has_a_new_demo_and_the_last_one_is_deleted(days, tmp_path):
    run, done = days

    with pytest.raises(KeyboardInterrupt):
        run.run()

    builds = [step for step in done if step[0] == "build"]
    assert [port for _, port, _ in builds] == ["8010", "8020", "8010"]
    assert builds[1][2] == pytest.approx(24 * 3600 - 30 * 60, abs=600)
    models = [step[1:] for step in done if step[0] == "start" and "--port" in step[2]]
    ports = ["--port=8011", "--port=8021", "--port=8011"]
    assert models == [(f"day-{n}", port) for n, port in enumerate(ports, 1)]
    assert [path.name for path in tmp_path.iterdir()] == ["day-3"]
    visits = [step[1]["env"] for step in done if step[0] == "visitor"]
    assert len(visits) > 300
    assert {visit["VISITOR_PASSWORD"] for visit in visits} == {"p"}
    assert {visit["PUBLIC_BASE_URL"] for visit in visits} == {"https://demo.example.org"}


def test_a_demo_that_cannot_be_built_is_said(days, monkeypatch):
    run, _ = days
    monkeypatch.setattr(public.subprocess.Popen, "wait", lambda self: 3)

    with pytest.raises(ProcessDied, match="exit code 3"):
        run.run()


def test_building_keeps_nothing_of_the_environment_that_leads_elsewhere(monkeypatch, tmp_path):
    for name in ("DATABASE_URL", "SECRET_KEY", "CELERY_BROKER_URL", "VISITOR_PASSWORD"):
        monkeypatch.setenv(name, "x")

    environment = public.build_environment(tmp_path, port=9)

    assert "x" not in {environment.get(name) for name in ("DATABASE_URL", "SECRET_KEY")}
    assert not {"CELERY_BROKER_URL", "VISITOR_PASSWORD"} & environment.keys()


def test_it_ends_when_it_is_asked_to(tmp_path):
    code = (
        "import demo.public as p, sys, time\n"
        "p.Days.run = lambda self: time.sleep(60)\n"
        "sys.exit(p.main())\n"
    )
    environment = {"VAR_DIR": str(tmp_path), "PATH": "", "VISITOR_PASSWORD": "let me in"}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        process.terminate()
        assert process.wait(timeout=60) == 0

    assert "sign in as “visitor” with the password let me in" in said


def test_the_image_differs_from_that_of_an_installation_in_its_last_lines_only():
    usual = list(instructions((ROOT / "Dockerfile").read_text("utf-8")))
    space = list(instructions((ROOT / "deploy/space/Dockerfile").read_text("utf-8")))

    assert space[: len(usual) - 2] == usual[:-2]
    assert space[len(usual) - 2 :] == [
        ("EXPOSE", "7860"),
        ("ENV", "PORT=7860"),
        ("CMD", '["python", "-m", "demo.public"]'),
    ]
    assert "app_port: 7860" in (ROOT / "deploy/space/README.md").read_text("utf-8")
