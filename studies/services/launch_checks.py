"""Launch checks of a study, for every way of recruiting. Each app adds its own.

A blocking check refuses the opening. Advice can be passed with a reason, which the log keeps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from studies.errors import OpeningRefused
from studies.models import Study, StudyLog
from studies.services.studies import record, set_state

# The event of the log. Logs of existing studies hold this text; do not change it.
OPENED_DESPITE = "opened in spite of advice"


@dataclass(frozen=True)
class LaunchCheck:
    """One launch check and its outcome; `fix` is the address of the page that fixes it."""

    text: str
    is_open: bool
    blocks: bool = False
    fix: str = ""


@dataclass(frozen=True)
class LaunchChecks:
    """The launch checks of a study by what they mean for its opening."""

    blocking: list[LaunchCheck]
    advice: list[LaunchCheck]
    passed: list[LaunchCheck]


_sources: list[Callable[[Study], list[LaunchCheck]]] = []


def register(source: Callable[[Study], list[LaunchCheck]]) -> None:
    """Add `source` to the launch checks, when an app is ready; a second call changes nothing."""
    if source not in _sources:
        _sources.append(source)


def registered_checks(study: Study) -> list[LaunchCheck]:
    """The checks that hold whoever recruits; they may ask the servers of judges."""
    return [check for source in _sources for check in source(study)]


def sort_checks(checks: Sequence[LaunchCheck]) -> LaunchChecks:
    still_open = [check for check in checks if check.is_open]
    return LaunchChecks(
        blocking=[check for check in still_open if check.blocks],
        advice=[check for check in still_open if not check.blocks],
        passed=[check for check in checks if not check.is_open],
    )


def open_draft(*, study: Study, reason: str, user: User) -> Study:
    """Open a draft for answers.

    Raises `OpeningRefused` while a check blocks, or while there is advice and no `reason`. The
    checks are made before the transaction, because they ask servers.
    """
    checks = sort_checks(registered_checks(study))
    if checks.blocking:
        raise OpeningRefused("The study cannot be opened yet. Fix what blocks it first.")
    if checks.advice and not reason:
        raise OpeningRefused("Say why you open the study in spite of the advice.")
    with transaction.atomic():
        opened = set_state(study_id=study.pk, state=Study.State.OPEN, user=user)
        if checks.advice:
            advice = [check.text for check in checks.advice]
            record(opened, OPENED_DESPITE, user=user, reason=reason, advice=advice)
    return opened


def opening_note(study: Study) -> StudyLog | None:
    """The log's entry of an opening in spite of advice, with its reason; None if there is none."""
    return study.log.filter(event=OPENED_DESPITE).select_related("user").first()
