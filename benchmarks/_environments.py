"""Virtual environments of the programs that this one is compared with, in var/benchmarks."""

import subprocess
import sys
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent.parent / "var" / "benchmarks"
VERSIONS = {
    "otree": ["otree==6.0.15"],
    "potato": ["potato-annotation==2.12.1"],
    "inspect": ["inspect-ai==0.3.285", "openai==3.54.0"],
}


class NotInstalled(RuntimeError):
    """A program could not be installed; the message says why."""


def environment(name: str) -> Path:
    """The folder of programs (`bin`) of `name`, which is installed the first time."""
    wanted = VERSIONS[name]
    folder = _FOLDER / wanted[0].replace("==", "-")
    done = folder / "installed.txt"
    if not done.exists() or done.read_text() != "\n".join(wanted):
        sys.stderr.write(f"Installing {', '.join(wanted)} in {folder} …\n")
        _run([sys.executable, "-m", "venv", "--clear", str(folder)])
        _run([str(folder / "bin" / "pip"), "install", "--quiet", *wanted])
        done.write_text("\n".join(wanted))
    return folder / "bin"


def _run(command: list[str]) -> None:
    result = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    if result.returncode:
        lines = result.stderr.strip().splitlines() or ["no message"]
        raise NotInstalled(f"{' '.join(command[-2:])}: {lines[-1]}")
