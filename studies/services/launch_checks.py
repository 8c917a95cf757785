"""What is looked at before a study is launched. Each app adds what it knows of."""

from collections.abc import Callable
from dataclasses import dataclass

from studies.models import Study


@dataclass(frozen=True)
class LaunchCheck:
    """One check and its outcome; `fix` is the address of the page that fixes it."""

    text: str
    is_open: bool
    blocks: bool = False
    fix: str = ""


_sources: list[Callable[[Study], list[LaunchCheck]]] = []


def register(source: Callable[[Study], list[LaunchCheck]]) -> None:
    """Ask `source` as well. Apps do this when they are ready; twice is once."""
    if source not in _sources:
        _sources.append(source)


def checks_of_other_apps(study: Study) -> list[LaunchCheck]:
    return [check for source in _sources for check in source(study)]
