"""The command `thirdperson`: check a table of labels, or run the whole product."""

import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from thirdperson.program import APPS, IS_INSTALLED

HELP = """usage: thirdperson COMMAND …

Can an LLM stand in for people? Thirdperson compares the labels of judges with those of people.

  check FILE     audit a judge from a table of human and judge labels, without a database
  serve          run web server and worker here, with everything in one folder
  setup          create or update the database (serve and demo do this too)
  demo           build a study with simulated people and judges and its report, then serve it
  help           all other commands, such as create_study, import_items, judge, report
  completion     a script that completes commands and options in bash, zsh or fish
  man            this and all options as a page for man: thirdperson man | man -l -

  --version      the version of this program
  --help         this text; `thirdperson COMMAND --help` describes a command

All but check, completion and man need more packages: pip install "thirdperson[server]". They store
everything in the folder thirdperson-data of the current folder, or in VAR_DIR. `check` stores only
its report."""
DATA = "thirdperson-data"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    _find_apps()
    from studies.console import console

    with console():
        return _run((sys.argv[1:] if arguments is None else list(arguments)) or ["--help"])


def _run(arguments: Sequence[str]) -> int:
    command, *rest = arguments
    if command in ("-h", "--help"):
        sys.stdout.write(f"{HELP}\n")
        return 0
    if command == "--version":
        from studies.version import version

        sys.stdout.write(f"thirdperson {version()}\n")
        return 0
    if command not in _ALONE and not _has_server():
        sys.stderr.write(
            f"thirdperson {command} needs packages that are not installed. Install them: pip "
            'install "thirdperson[server]", or pip install -r requirements.txt in a checkout.\n'
        )
        return 2
    return _COMMANDS.get(command, _manage)([command, *rest])


def _has_server() -> bool:
    """Whether the optional packages of the server are installed; one stands for all."""
    return find_spec("celery") is not None


def _find_apps() -> None:
    """Let this process, and those that it starts, import the apps."""
    apps = str(APPS)
    if apps not in sys.path:
        sys.path.insert(0, apps)
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if apps not in known:
        os.environ["PYTHONPATH"] = os.pathsep.join([apps, *filter(None, known)])


def _use_data_folder() -> None:
    """An installed program must not store data next to its modules."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    if IS_INSTALLED:
        folder = Path(os.environ.get("VAR_DIR") or Path.cwd() / DATA)
        os.environ.setdefault("VAR_DIR", str(folder))
        os.environ.setdefault("DOTENV_FILE", str(folder / ".env"))
        os.environ.setdefault("STATIC_ROOT", str(folder / "staticfiles"))


def _check(command: Sequence[str]) -> int:
    from thirdperson.check.command import check

    return check(command[1:])


def _serve_parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="thirdperson serve",
        description="Set up the database if necessary, then start web server and worker.",
    )
    parser.add_argument("--port", type=int, help="port of the web server (default: PORT, or 8000)")
    parser.add_argument("--host", help="address to listen at (default: HOST, or 127.0.0.1)")
    return parser


def _serve(command: Sequence[str]) -> int:
    options = _serve_parser().parse_args(command[1:])
    if options.port is not None:
        os.environ["PORT"] = str(options.port)
    if options.host is not None:
        os.environ["HOST"] = options.host
    _use_data_folder()
    if code := _migrate():
        return code
    from config import processes

    sys.stdout.write(f"Data: {os.environ.get('VAR_DIR', 'var')}\n")
    sys.stdout.flush()
    sys.argv = ["thirdperson serve"]
    return processes.main()


def _setup_parser() -> ArgumentParser:
    return ArgumentParser(prog="thirdperson setup", description="Create or update the database.")


def _setup(command: Sequence[str]) -> int:
    _setup_parser().parse_args(command[1:])
    _use_data_folder()
    return _migrate()


def _demo_parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="thirdperson demo",
        description="Build a study with simulated people and judges and its report, then serve it.",
    )
    parser.add_argument("--port", type=int, help="port of the web server (default: PORT, or 8000)")
    parser.add_argument(
        "--real",
        action="store_true",
        help="add a real model of 135 million parameters to the judges; needs the packages of "
        "requirements-tiny.txt",
    )
    return parser


def _demo(command: Sequence[str]) -> int:
    options = _demo_parser().parse_args(command[1:])
    if options.port is not None:
        os.environ["PORT"] = str(options.port)
    from demo import run

    if options.real and (sentence := run.missing_packages()):
        sys.stderr.write(f"{sentence}\n")
        return 2
    _use_data_folder()
    if code := _migrate():
        return code
    return run.main(has_real=options.real)


def _migrate() -> int:
    """Update the database in a separate process, because the next one has other settings."""
    return subprocess.call([sys.executable, "-P", "-m", "config.migrate"])


def _parsers() -> dict[str, ArgumentParser]:
    """All commands that can be installed here, by name."""
    from thirdperson.check.command import parser as check_parser
    from thirdperson.shell import commands_of_django

    own = {
        "check": check_parser(),
        "serve": _serve_parser(),
        "setup": _setup_parser(),
        "demo": _demo_parser(),
    }
    if not _has_server():
        return own
    with TemporaryDirectory() as folder:
        # Settings write a key to the data folder, which a description must not leave behind.
        os.environ["VAR_DIR"] = folder
        _use_data_folder()
        import django

        django.setup()
        return own | dict(commands_of_django())


def _completion(command: Sequence[str]) -> int:
    from thirdperson.shell import SHELLS, completion

    parser = ArgumentParser(
        prog="thirdperson completion",
        description="Print a script that completes commands and options. In bash, for example: "
        "source <(thirdperson completion bash)",
    )
    parser.add_argument("shell", choices=SHELLS)
    sys.stdout.write(completion(parser.parse_args(command[1:]).shell, _parsers()))
    return 0


def _man(command: Sequence[str]) -> int:
    from studies.version import version
    from thirdperson.shell import man

    parser = ArgumentParser(
        prog="thirdperson man", description="Print the manual: thirdperson man | man -l -"
    )
    parser.parse_args(command[1:])
    sys.stdout.write(man(_parsers(), version=version(), about=HELP))
    return 0


def _manage(command: Sequence[str]) -> int:
    _use_data_folder()
    from manage import main as manage

    sys.argv = ["thirdperson", *command]
    manage()
    return 0


_COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "check": _check,
    "serve": _serve,
    "setup": _setup,
    "demo": _demo,
    "completion": _completion,
    "man": _man,
}
_ALONE = {"check", "completion", "man"}
