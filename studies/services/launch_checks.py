"""Launch checks of a study. Each app adds its own."""

from collections.abc import Callable
from dataclasses import dataclass

from studies.models import Study


@dataclass(frozen=True)
class LaunchCheck:
    """One launch check and its outcome; `fix` is the address of the page that fixes it."""

    text: str
    is_open: bool
    blocks: bool = False
    fix: str = ""


_sources: list[Callable[[Study], list[LaunchCheck]]] = []


def register(source: Callable[[Study], list[LaunchCheck]]) -> None:
    """Add `source` to the launch checks, when an app is ready; a second call changes nothing."""
    if source not in _sources:
        _sources.append(source)


def checks_of_other_apps(study: Study) -> list[LaunchCheck]:
    return [check for source in _sources for check in source(study)]
