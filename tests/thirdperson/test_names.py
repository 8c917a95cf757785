"""What `import thirdperson` gives another program, and what it leaves alone."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import thirdperson
from thirdperson import stats
from thirdperson.cli import main

ROOT = Path(__file__).resolve().parents[2]
APPS = {"analysis", "annotation", "config", "demo", "django", "judging", "studies"}


def top_level_names(script: str) -> set[str]:
    """The top-level modules of a new process after a script."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{script}\nprint(*sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.nightly
def test_the_statistics_come_under_one_name():
    loaded = top_level_names("from thirdperson import stats\nstats.krippendorff_alpha")

    assert {"thirdperson", "numpy"} <= loaded
    assert not loaded & APPS


def test_modules_of_the_statistics_can_be_imported_too():
    assert import_module("thirdperson.stats.core.votes").Votes is stats.Votes
    assert thirdperson.stats is stats


def test_every_public_statistic_is_there():
    assert len(stats.__all__) > 140
    assert [name for name in stats.__all__ if not hasattr(stats, name)] == []


def test_statistics_of_extras_come_under_the_same_name():
    folders = sorted(ROOT.glob("extras/*/stats"))
    packages = [import_module(f"extras.{folder.parent.name}.stats") for folder in folders]

    for package in packages:
        assert all(getattr(stats, name) is getattr(package, name) for name in package.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing_like_it'"):
        stats.nothing_like_it  # noqa: B018


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="no attribute 'statistics'"):
        thirdperson.statistics  # noqa: B018


@pytest.mark.parametrize("command", [["--help"], ["--version"], ["check", "--help"]])
def test_help_loads_neither_django_nor_arrays(command):
    script = f"from thirdperson.cli import main\ntry: main({command})\nexcept SystemExit: pass"

    assert not top_level_names(script) & {"django", "numpy", "scipy", "plotly", "celery"}


def test_help_is_printed_without_a_command(capsys):
    assert main([]) == main(["--help"]) == 0

    first, second = capsys.readouterr().out.split("usage: ")[1:]
    assert first == second


@pytest.mark.parametrize("name", ["check", "serve", "setup", "demo", "completion", "man"])
def test_every_own_command_has_a_help_and_is_documented(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])

    assert ended.value.code == 0
    options = re.findall(r"--[a-z-]+", capsys.readouterr().out)
    documented = "".join(
        (ROOT / "docs" / page).read_text("utf-8") for page in ("check.md", "commands.md")
    )
    assert [option for option in options if option not in documented and option != "--help"] == []
    assert f"thirdperson {name}" in documented


def test_shells_complete_commands_and_options(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("VAR_DIR", "")

    def completed(*words: str) -> list[str]:
        typed = f"COMP_WORDS=(thirdperson {' '.join(words)}); COMP_CWORD={len(words)}"
        line = f'source {tmp_path}/bash; {typed}; _thirdperson; echo "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
        return done.stdout.split()

    for shell in ("bash", "fish"):
        assert main(["completion", shell]) == 0
        (tmp_path / shell).write_text(capsys.readouterr().out)

    assert completed("jud") == ["judge", "judge_datasheet"]
    assert completed("judge", "--set") == ["--setting"]
    assert completed("check", "--people") == ["--people"]
    assert completed("check", "labels.c") == []  # a file
    fish = (tmp_path / "fish").read_text()
    assert "complete -c thirdperson -n '__fish_seen_subcommand_from judge' -l setting\n" in fish


def test_the_manual_has_every_command_and_no_line_that_troff_would_run(capsys, monkeypatch):
    monkeypatch.setenv("VAR_DIR", "")

    assert main(["man"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert {".SH CHECK", ".SH SERVE", ".SH JUDGE"} <= set(lines)
    assert {line.split()[0] for line in lines if line.startswith((".", "'"))} == {
        ".TH",
        ".SH",
        ".nf",
        ".fi",
    }
