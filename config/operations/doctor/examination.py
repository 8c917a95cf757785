"""All checks in their order, what they found, and repairs."""

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from config.operations.doctor import (
    annotator_checks,
    file_checks,
    installation_checks,
    judge_checks,
)
from config.operations.doctor.faults import InvariantCheck, InvariantFault
from studies.additions import Additions
from studies.models import Study
from studies.services.studies import record

logger = logging.getLogger(__name__)

CHECKS = [
    *installation_checks.CHECKS,
    *annotator_checks.CHECKS,
    *judge_checks.CHECKS,
    *file_checks.CHECKS,
]
MORE: Additions[InvariantCheck] = Additions()
_SHOWN = 20  # of each check


@dataclass
class Examined:
    """What one check found: the first faults, and how many there are."""

    check: InvariantCheck
    count: int = 0
    faults: list[InvariantFault] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "check": self.check.name,
            "title": self.check.title,
            "faults": self.count,
            "first": [{"sentence": f.sentence, "study": f.study} for f in self.faults],
            "repairs": self.repairs,
            "remedy": self.check.remedy if self.count else "",
        }


def every_check() -> list[InvariantCheck]:
    """The checks of the core and of extras, in the order in which they run."""
    return MORE.among(CHECKS)


def examine(checks: Sequence[InvariantCheck] | None = None) -> Iterator[Examined]:
    """Run the checks, all if none are given, each when it is asked for; nothing changes."""
    for check in every_check() if checks is None else checks:
        found = Examined(check)
        for fault in _faults(check):
            found.count += 1
            if found.count <= _SHOWN:
                found.faults.append(fault)
        yield found
        if check is installation_checks.MIGRATIONS and found.count:
            return  # tables or columns that the other checks read may be missing


def _faults(check: InvariantCheck) -> Iterator[InvariantFault]:
    """What a check finds, and that it could not go on while files are away."""
    try:
        yield from check.find()
    except OSError as error:
        yield InvariantFault(f"This was not checked to its end. {error}", unchecked=True)


def repair(checks: Sequence[InvariantCheck] | None = None) -> Iterator[Examined]:
    """Repair what can be repaired, and then run the checks: what they find is left.

    Each repair is a transaction of its own, in the log of the server and in that of its study.
    """
    checks = every_check() if checks is None else checks
    done = {check.name: _repair(check) for check in checks if check.repair}
    for found in examine(checks):
        found.repairs = done.get(found.check.name, [])
        yield found


def _repair(check: InvariantCheck) -> list[str]:
    assert check.repair is not None  # noqa: S101 - as `repair` chose
    sentences, by_study = [], Counter[str]()
    for fault in _faults(check):
        if fault.unchecked:
            continue
        if sentence := check.repair(fault):
            logger.warning("doctor repaired %s: %s", check.name, sentence)
            sentences.append(sentence)
            by_study[fault.study] += 1
    for study in Study.objects.filter(slug__in=by_study.keys()):
        record(study, "repaired by doctor", check=check.name, repairs=by_study[study.slug])
    return sentences
