"""Follows the Dockerfile in a folder, where no container engine is at hand.

    python deploy/follow_dockerfile.py FOLDER

Packages are installed into a new virtual environment, files are copied as .dockerignore says, and
every RUN is run. Accounts are not made and owners not changed. Prints the final command.
"""

import fnmatch
import os
import re
import shlex
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What needs root or an account of the image.
_LEFT_OUT = "useradd() { :; }; chown() { :; }; "


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Name and arguments of every instruction, with continued lines joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        if line.strip():
            name, _, arguments = line.strip().partition(" ")
            yield name, arguments


def copied(ignored: list[str]) -> list[str]:
    """The files of the checkout that the image gets."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [
        name
        for name in listed.stdout.split("\0")
        if name and not any(_is_ignored(name, rule) for rule in ignored)
    ]


def _is_ignored(name: str, rule: str) -> bool:
    rule = rule.removeprefix("**/")
    return name == rule or name.startswith(f"{rule}/") or fnmatch.fnmatch(Path(name).name, rule)


def follow(folder: Path) -> tuple[list[str], dict[str, str]]:
    """Build in `folder`; returns the command of the image and its environment."""
    app, made = folder / "app", folder / "python"
    app.mkdir(parents=True)
    venv.create(made, with_pip=True)
    environment = os.environ | {"PATH": f"{made / 'bin'}:{os.environ['PATH']}"}
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    command: list[str] = []
    for name, arguments in instructions((ROOT / "Dockerfile").read_text("utf-8")):
        if name == "ENV":
            environment |= dict(part.split("=", 1) for part in shlex.split(arguments))
        elif name == "COPY":
            source, target = arguments.split()
            for file in copied(ignored) if source == "." else [source]:
                (app / target / file).parent.mkdir(parents=True, exist_ok=True)
                (app / target / file).write_bytes((ROOT / file).read_bytes())
        elif name == "RUN":
            script = _LEFT_OUT + arguments.replace("/app", str(app))
            subprocess.run(["bash", "-ec", script], cwd=app, env=environment, check=True)
        elif name == "CMD":
            command = [part.strip(' "') for part in arguments.strip("[]").split(",")]
        elif name == "ARG":
            environment |= dict([arguments.split("=", 1)])
        elif name not in ("FROM", "WORKDIR", "USER", "EXPOSE"):
            raise SystemExit(f"The Dockerfile has an instruction that is not followed: {name}")
    return [str(made / "bin" / command[0]), *command[1:]], environment


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("Name a folder that does not exist yet.")
    final, _ = follow(Path(sys.argv[1]).resolve())
    sys.stdout.write(shlex.join(final) + "\n")
