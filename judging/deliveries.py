"""Ways to answer a run other than by requests of workers; extras add them to `MORE`.

Such a delivery holds questions with leases that end later than any worker's
(`last_lease_of_workers`), and stores each request in the ledger before sending it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from studies.extra import Kind

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from pathlib import Path

    from judging.models import JudgeRun
    from judging.runs.spec import RunSpec
    from judging.selectors import RunProgress
    from studies.models import Study


@dataclass(frozen=True)
class RunPanel:
    """A part of a run's page: template, `panel`, and whether nothing is left to ask here."""

    template: str
    context: dict[str, Any] = field(default_factory=dict)
    holds_all: bool = False


class RunDelivery:
    """One such delivery. All methods are optional."""

    name: ClassVar[str]
    asks_by_batch: ClassVar[bool] = False  # the runs that are `by_batch`
    packages: ClassVar[tuple[str, ...]] = ()  # that send the questions

    def add_judge_options(self, parser: ArgumentParser) -> None:
        """Add options to `judge`."""

    def specify(self, spec: RunSpec, options: dict[str, Any]) -> RunSpec:
        """The values that the options of `judge` add to the run."""
        return spec

    def queue(self, run_id: int) -> None:
        """Have a worker take the next step of a run that it asks by batch."""

    def follow(self) -> None:
        """Queue the steps of all runs that have one to take. A worker calls this every minute."""

    def work_off(self, run_id: int, on_wait: Callable[[], None]) -> None:
        """Take the steps of a run that it asks by batch, in this process, until the run ends."""

    def deliver(self, spec: RunSpec, options: dict[str, Any]) -> str:
        """Carry out the options of `judge`; return a sentence if nothing is to be asked here."""
        return ""

    def add_import_options(self, parser: ArgumentParser) -> None:
        """Add options to `import_judgments`."""

    def read(self, study: Study, paths: Sequence[Path], options: dict[str, Any]) -> str:
        """Read raw replies if the options of `import_judgments` say so, and return the outcome.

        Raises `CommandError` for options that do not go together.
        """
        return ""

    def leases(self) -> Iterable[Any]:
        """The leases of its questions, which no worker releases."""
        return ()

    def why_waiting(self, run_id: int) -> str:
        """Why a run waits if this holds all its open questions; otherwise empty."""
        return ""

    def panel(self, run: JudgeRun, progress: RunProgress, *, may_edit: bool) -> RunPanel | None:
        """A part of the run's page."""
        return None


MORE: Kind[RunDelivery] = Kind("runs", "deliveries")


def by_batch() -> RunDelivery | None:
    """The delivery that asks runs by batch, if there is one."""
    return next((delivery for delivery in MORE if delivery.asks_by_batch), None)
