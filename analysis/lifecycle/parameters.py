"""The parameters of a report, and where its files are."""

from analysis.errors import BadParameters
from analysis.models import Report
from studies.file_storage.stored import Stored

DEFAULT_SEED = 20240701
DEFAULT_BOOTSTRAP = 1000
BOOTSTRAP_RANGE = (100, 100_000)
ITEM_ROWS = "item_rows"  # the folder of a report with the rows of items that its page asks for
# Every JSON reader keeps a seed up to this value exactly.
SEED_RANGE = (0, 2**53)


def check_parameters(*, threshold: int | None, seed: int | None, bootstrap: int | None) -> None:
    """Raise `BadParameters` with the fault and the allowed range; None takes the default."""
    if threshold is not None and not 1 <= threshold <= 100:
        raise BadParameters(f"The threshold must be from 1 to 100, not {threshold}.")
    if seed is not None and not SEED_RANGE[0] <= seed <= SEED_RANGE[1]:
        raise BadParameters(f"The seed must be from 0 to 2^53, not {seed}.")
    low, high = BOOTSTRAP_RANGE
    if bootstrap is not None and not low <= bootstrap <= high:
        raise BadParameters(
            f"The number of resamples must be from {low} to {high:,}, not {bootstrap}."
        )


def report_dir(public_id: str) -> Stored:
    return Stored(f"reports/{public_id}")


def folder_of(report: Report) -> Stored:
    return report_dir(report.public_id)
