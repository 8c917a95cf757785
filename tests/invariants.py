"""What must hold after a test that does much: the checks of `doctor`, if it is there."""

from django.apps import apps


def broken_invariants(*names: str) -> list[str]:
    """What checks of these names, or of modules with these names, find; by default all checks."""
    if not apps.is_installed("extras.administration"):
        return []
    from extras.administration.doctor.examination import CHECKS, examine

    chosen = [
        check
        for check in CHECKS
        if not names or {check.name, check.find.__module__.rpartition(".")[2]} & {*names}
    ]
    return [fault.sentence for one in examine(chosen) for fault in one.faults]
