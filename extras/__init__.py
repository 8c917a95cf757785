"""Rare designs: one folder each, with its manifest in `extra.py`, and what it needs.

An extra has everything of its design: models, services, pages, commands, templates, documentation.
It imports the core, and no other extra. Deleting its folder and `tests/extras/<name>` leaves a
program without that design.
"""

from pathlib import Path

_FOLDER = Path(__file__).parent
NAMES = sorted(path.parent.name for path in _FOLDER.glob("*/extra.py"))


def modules(name: str, names: list[str]) -> list[str]:
    """The modules of this name, in those extras that have one."""
    return [
        f"extras.{extra}.{name}" for extra in names if (_FOLDER / extra / f"{name}.py").exists()
    ]
