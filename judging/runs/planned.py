"""The runs that the preset of a study plans for each judge."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from judging.errors import BadPlan
from judging.runs.campaigns import CampaignPlan
from studies.errors import StudyError
from studies.models import Study
from studies.personas import known_keys, resolve
from studies.services.presets import PRESETS, RunGrid, preset_of


@dataclass(frozen=True)
class PlannedRuns:
    """The grids of a study's preset; `left_out` says which features its personas lack.

    Without a preset that plans runs, there are none.
    """

    grids: tuple[RunGrid, ...]
    left_out: tuple[str, ...] = ()

    @property
    def each(self) -> list[tuple[str, str, str]]:
        """Setting, features and orders of each run of one judge."""
        return [
            (setting, features, grid.orders)
            for grid in self.grids
            for setting in grid.settings
            for features in grid.features
        ]


def planned_runs(study: Study) -> PlannedRuns:
    """Before the first personas, nothing is left out."""
    preset = PRESETS.get(preset_of(study))
    if preset is None or not preset.runs:
        return PlannedRuns(())
    known, left_out = known_keys(study), dict[str, str]()
    for features in {name for grid in preset.runs for name in grid.features} if known else ():
        try:
            resolve(study, features, known=known)
        except StudyError as error:
            left_out[features] = str(error)
    kept = (
        replace(grid, features=tuple(name for name in grid.features if name not in left_out))
        for grid in preset.runs
    )
    return PlannedRuns(
        tuple(grid for grid in kept if grid.features), tuple(sorted(left_out.values()))
    )


def plans_of(
    study: Study, *, judges: Sequence[str], budget: Decimal | None = None
) -> list[CampaignPlan]:
    """A campaign for each planned grid, each with the budget.

    Raises `BadPlan` if nothing is planned, or no judge is named.
    """
    planned = planned_runs(study)
    if not planned.grids:
        raise BadPlan(
            f"No preset plans runs of “{study.slug}”. Name a plan file, or create the study with "
            "--preset personalized-judge."
        )
    if not judges:
        raise BadPlan("Name the judges of the planned runs, each with --judge NAME.")
    return [
        CampaignPlan(
            name=f"Planned runs: {', '.join(grid.settings)}",
            judges=[*judges],
            settings=[*grid.settings],
            features=[*grid.features],
            orders=[grid.orders],
            budget=None if budget is None else str(budget),
        )
        for grid in planned.grids
    ]
