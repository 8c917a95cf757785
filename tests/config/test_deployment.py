"""The files of `deploy/`, compose.yaml and the Dockerfile say what the program understands."""

import configparser
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from config import is_healthy, processes
from deploy.follow_dockerfile import copied, follow, instructions
from tests.migrated import copy_migrated
from tests.servers import free_port

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = (ROOT / "compose.yaml").read_text("utf-8")
SERVICES = dict(re.findall(r"^  (\w+):\n((?:    .*\n)+)", COMPOSE.partition("services:")[2], re.M))
BACKUP = ROOT / "deploy/systemd/thirdperson-backup.service"
UNITS = sorted({*(ROOT / "deploy/systemd").glob("*.service")} - {BACKUP})
DOCUMENTED = set(
    re.findall(r"`([A-Z][A-Z_]+)`", (ROOT / "docs/configuration.md").read_text("utf-8"))
)
# Of the images and of compose, not of the program.
OF_OTHERS = {"POSTGRES_USER", "POSTGRES_PASSWORD", "DOMAIN"}


def test_every_image_is_pinned_to_a_release():
    images = re.findall(r"image: (\S+)", COMPOSE)
    images += [value for name, value in instructions(_dockerfile()) if name == "FROM"]

    assert len(images) == 5
    assert [image for image in images if not re.search(r":\d+\.\d+", image)] == []


def test_every_service_that_others_wait_for_has_a_health_check():
    waited = re.findall(r"(\w+): \{condition: service_healthy\}", COMPOSE)

    assert set(waited) == {"database", "broker"}
    assert [name for name in {*waited, "web"} if "healthcheck:" not in SERVICES[name]] == []
    assert "config/is_healthy.py, worker" in SERVICES["worker"]


def test_no_service_fills_the_disk_with_its_log():
    unlimited = [
        name for name, text in SERVICES.items() if "*logging" not in text and "*app" not in text
    ]

    assert "logging: &logging" in COMPOSE
    assert unlimited == []


def test_a_worker_is_alive_while_its_file_is_new(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VAR_DIR", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["is_healthy.py", "worker"])
    assert is_healthy.main() == 1
    path = tmp_path / "worker.heartbeat"
    path.touch()
    assert is_healthy.main() == 0
    os.utime(path, (1_000_000_000, 1_000_000_000))

    assert is_healthy.main() == 1
    assert "The worker has been silent for" in capsys.readouterr().err


def test_pages_and_units_use_the_same_folders():
    """Whoever follows one page and then the other has one installation."""
    paths = [ROOT / "docs/deployment.md", *ROOT.glob("extras/*/docs/backups.md")]
    pages = "".join(path.read_text("utf-8") for path in paths)
    units = [path.read_text("utf-8") for path in (*UNITS, BACKUP)]

    assert "/srv/" not in pages
    assert all("WorkingDirectory=/opt/thirdperson\n" in unit for unit in units)
    assert all("EnvironmentFile=/etc/thirdperson.env\n" in unit for unit in units)
    copied = re.findall(
        r"deploy/\S+", "\n".join(re.findall(r"^    (?:cp|install) .*", pages, re.M))
    )
    assert len(copied) >= len(paths)
    assert [name for name in copied if not list(ROOT.glob(name))] == []


# Stand-ins for what changes the machine. `python3 -m venv` gives the environment of this test.
STAND_INS = {
    "apt": "",
    "useradd": "",
    "python3": """mkdir -p .venv/bin
        printf '#!/bin/sh\\nexec %s "$@"\\n' "$THIS_PYTHON" > .venv/bin/python
        printf '#!/bin/sh\\ntest -f "$3"\\n' > .venv/bin/pip; chmod +x .venv/bin/*""",
    "sudo": """if [ "$1 $2" = "-u postgres" ]; then exit 0; fi
        test "$1 $2 $3" = "--user thirdperson --preserve-env"; shift 3; exec "$@" """,
    "systemctl": """for name in "$@"; do case $name in enable|--now|reload|caddy) ;;
        *) test -f "$SYSTEM/$name.service";; esac; done""",
}


@pytest.mark.e2e
@pytest.mark.sqlite
@pytest.mark.nightly  # With --all: a whole installation, of which test_demo starts one.
def test_a_server_without_containers_is_set_up_word_by_word_and_becomes_healthy(tmp_path):
    """Each line of the page in its order, with folders of this machine and no PostgreSQL."""
    folders = {name: str(tmp_path / name) for name in ("opt", "etc", "data", "bin")}
    here = {
        "/opt/thirdperson": folders["opt"],
        "/etc/": f"{folders['etc']}/",
        "/var/lib/thirdperson": folders["data"],
        "postgresql:///thirdperson": f"sqlite:///{folders['data']}/thirdperson.sqlite3",
        "CELERY_BROKER_URL=redis": "# redis",
        "replace-me-by": "of-a-test-",
    }

    def local(text: str) -> str:
        return re.sub("|".join(map(re.escape, here)), lambda found: here[found[0]], text)

    for name in ("etc/systemd/system", "etc/caddy", "data", "bin"):
        (tmp_path / name).mkdir(parents=True)
    copy_migrated(tmp_path / "data")
    for name in copied([]):
        target = tmp_path / "opt" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.startswith("deploy/"):
            target.write_text(local((ROOT / name).read_text("utf-8")), encoding="utf-8")
        else:
            shutil.copy(ROOT / name, target)
    for name, script in STAND_INS.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/bash\nset -e\n{script}\n")
        program.chmod(0o755)
    system = tmp_path / "etc/systemd/system"
    environment = {name: value for name, value in os.environ.items() if name in ("HOME", "LANG")}
    environment |= {
        "PATH": f"{folders['bin']}:{os.environ['PATH']}",
        "THIS_PYTHON": sys.executable,
        "SYSTEM": str(system),
        "PORT": str(free_port()),
    }
    page = (ROOT / "docs/deployment.md").read_text("utf-8")
    part = page.partition("## Without containers")[2].partition("\n## ")[0]
    lines = re.findall(r"^    (.*)$", part, re.M)

    followed = subprocess.run(
        ["bash", "-ec", local("\n".join(lines)).replace(" && ", "\n")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )

    assert followed.returncode == 0, followed.stderr
    assert len(lines) == 11
    assert "reverse_proxy" in (tmp_path / "etc/caddy/Caddyfile").read_text("utf-8")
    settings = tmp_path / "etc/thirdperson.env"
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    running = []
    for unit in sorted(system.glob("*.service")):
        service = dict(re.findall(r"^(\w+)=(.*)$", unit.read_text("utf-8"), re.M))
        start = f"set -a; . {service['EnvironmentFile']}; exec {service['ExecStart']}"
        running.append(
            subprocess.Popen(
                ["bash", "-c", start],
                cwd=service["WorkingDirectory"],
                env=environment,
                start_new_session=True,
            )
        )
    try:
        assert len(running) == 2
        _wait_until_healthy(sys.executable, tmp_path / "opt", environment)
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(timeout=60)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_understands_the_units(tmp_path):
    for unit in (ROOT / "deploy/systemd").iterdir():
        text = unit.read_text("utf-8").replace("/opt/thirdperson/.venv/bin/python", sys.executable)
        (tmp_path / unit.name).write_text(text, encoding="utf-8")

    said = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *sorted(tmp_path.iterdir())],
        capture_output=True,
        text=True,
    )

    own = [line for line in said.stderr.splitlines() if "thirdperson" in line]
    assert own == []


def test_only_the_proxy_for_https_can_be_reached_from_outside():
    assert [name for name, text in SERVICES.items() if "ports:" in text] == ["https"]


def test_the_containers_get_every_setting():
    """By name, or from `.env`, which holds whatever else the documentation names."""
    named = set(re.findall(r"^    ([A-Z_]+):", COMPOSE, re.M))

    assert "env_file: [.env]" in COMPOSE
    assert named - OF_OTHERS <= DOCUMENTED


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_starts_a_role_that_exists_and_may_write_only_its_data(unit):
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[method-assign,assignment]  # as its documentation says
    parser.read_string(unit.read_text("utf-8"))
    service = parser["Service"]
    role = service["ExecStart"].rsplit(" ", 1)[1]

    assert role in processes.all_commands()
    assert service["ExecStart"].startswith("/opt/thirdperson/.venv/bin/python -m config.processes ")
    assert (service["ProtectSystem"], service["ReadWritePaths"]) == (
        "strict",
        "/var/lib/thirdperson",
    )
    assert service["User"] == "thirdperson"


def test_the_example_of_settings_names_only_settings():
    lines = (ROOT / "deploy/thirdperson.env.example").read_text("utf-8").splitlines()
    names = {line.partition("=")[0] for line in lines if not line.startswith("#")}

    assert names - DOCUMENTED == {"DJANGO_SETTINGS_MODULE"}


def test_the_image_gets_the_program_and_no_secrets_or_tests():
    files = copied((ROOT / ".dockerignore").read_text("utf-8").split())

    assert "manage.py" in files
    assert "config/processes.py" in files
    assert [name for name in files if name.startswith(("tests/", "benchmarks/"))] == []
    assert ".env" not in files


def test_health_is_asked_on_this_machine(monkeypatch, capsys, live_server):
    monkeypatch.setenv("PORT", live_server.url.rsplit(":", 1)[1])
    code = is_healthy.main()
    said = capsys.readouterr().err
    monkeypatch.setenv("PORT", str(free_port()))

    assert code in (0, 1)
    assert not code or said.startswith("503: ")
    assert is_healthy.main() == 1
    assert "does not answer" in capsys.readouterr().err


@pytest.mark.e2e
@pytest.mark.sqlite
@pytest.mark.nightly  # With --all: installs every package anew.
def test_the_dockerfile_makes_a_server_that_becomes_healthy(tmp_path):
    command, environment = follow(tmp_path / "image")
    app = tmp_path / "image/app"
    port = free_port()
    environment = {
        name: value
        for name, value in environment.items()
        if name not in ("DATABASE_URL", "CELERY_BROKER_URL")
    } | {
        "SECRET_KEY": "of a test " * 6,
        "DATABASE_URL": f"sqlite:///{tmp_path}/db.sqlite3",
        "VAR_DIR": str(tmp_path / "var"),
        "PORT": str(port),
        "HOST": "127.0.0.1",
    }
    python = command[0]
    subprocess.run([python, "-m", "config.migrate"], cwd=app, env=environment, check=True)
    roles = [command, [python, "-m", "config.processes", "worker"]]
    running = [
        subprocess.Popen(each, cwd=app, env=environment, start_new_session=True) for each in roles
    ]
    try:
        _wait_until_healthy(python, app, environment)
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(timeout=60)


def _wait_until_healthy(python: str, app: Path, environment: dict[str, str]) -> None:
    ask = [python, "config/is_healthy.py"]
    said = ""
    for _ in range(60):
        asked = subprocess.run(
            ask, cwd=app, env=environment, check=False, capture_output=True, text=True
        )
        if asked.returncode == 0:
            return
        said = asked.stderr
        subprocess.run(["sleep", "1"], check=True)
    raise AssertionError(said)


def _dockerfile() -> str:
    return (ROOT / "Dockerfile").read_text("utf-8")


def test_every_change_is_tested_and_its_packages_audited():
    """By commands that exist, with no more rights than to read the repository."""
    workflow = (ROOT / ".github/workflows/checks.yml").read_text("utf-8")
    commands = re.findall(r"run: (.+)", workflow)
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)

    assert commands == [".ci/run", "make sbom", "make audit"]
    assert (ROOT / commands[0]).stat().st_mode & 0o111
    assert {command.removeprefix("make ") for command in commands[1:]} <= set(targets)
    assert re.search(r"^permissions:\n  contents: read\n\n", workflow, re.M)
