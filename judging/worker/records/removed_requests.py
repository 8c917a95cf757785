"""What requests cost whose judgments were removed from a run; its ledger no longer has them."""

from collections.abc import Mapping

from judging.models import JudgeRun

# In the parameters of a run, with the amounts below.
REMOVED = "removed_requests"
AMOUNTS = ("nano", "tokens", "retries")


def add_removed(run: JudgeRun, amounts: Mapping[str, int]) -> None:
    """Add amounts to those of a locked run."""
    known = run.parameters.get(REMOVED, {})
    total = {name: known.get(name, 0) + amounts[name] for name in AMOUNTS}
    run.parameters = run.parameters | {REMOVED: total}
    run.save(update_fields=["parameters"])
