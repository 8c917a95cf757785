"""The analysis plan of a study as a file."""

from typing import Any

from django.contrib.auth.models import User

from analysis.data.plans import read_plan
from analysis.errors import AnalysisError
from analysis.lifecycle.plans import freeze_plan, parse_judge
from analysis.report.rules import ANALYSES
from studies.errors import FrozenStudy, StudyError
from studies.models import Study
from studies.study_folder import Folder, tables_of, to_toml, value_of

_PLAN_KINDS: dict[str, type] = {
    "threshold": int,
    "margin": float,
    "seed": int,
    "bootstrap": int,
    "analyses": list,
    "exclusions": str,
    "hypotheses": str,
}
_OF_A_RUN = ("judge", "setting", "features", "wording", "framing")


class PlanFile:
    """analysis_plan.toml. Applying it freezes the plan at that moment, not at its earlier time."""

    name, file = "analysis_plan", "analysis_plan.toml"

    def write(self, study: Study) -> dict[str, str]:
        try:
            plan = read_plan(study)
        except AnalysisError as error:
            raise StudyError(str(error)) from error
        return {} if plan is None else {self.file: to_toml(_plan_table(plan.content))}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        content = folder.toml(file, known=(*_PLAN_KINDS, "judge"))
        values: dict[str, Any] = {
            name: value_of(content, name, kind, where=file) for name, kind in _PLAN_KINDS.items()
        }
        if not all(isinstance(code, str) for code in values["analyses"]):
            raise StudyError(f"{file}: analyses must be a list of codes in quotes.")
        # In the order in which a plan stores them; freezing refuses unknown ones.
        values["analyses"].sort(key=[*ANALYSES, *values["analyses"]].index)
        try:
            runs = [_planned_run(row, file) for row in tables_of(content, "judge", where=file)]
            old = read_plan(study)
            if old is None:
                freeze_plan(study_id=study.pk, user=user, judges=runs, **values)
                return ["The analysis plan is now frozen and cannot be changed."]
        except AnalysisError as error:
            raise StudyError(f"{file}: {error}") from error
        table = _plan_table(old.content)
        if {**values, "judge": runs} != {**table, "judge": [_usual(row) for row in table["judge"]]}:
            raise FrozenStudy(
                f"{file}: “{study.slug}” has a different analysis plan, frozen on "
                f"{old.frozen_at[:16]}, which cannot be changed. Remove “analysis_plan” from "
                "study.toml."
            )
        return []


def _plan_table(content: Any) -> dict[str, Any]:
    """A plan without values that follow from the study: its name and hashes of wordings."""
    runs = [{key: run[key] for key in _OF_A_RUN if key in run} for run in content["judges"]]
    return {**{name: content[name] for name in _PLAN_KINDS}, "judge": runs}


def _planned_run(row: dict[str, Any], file: str) -> dict[str, str]:
    texts = {key: value_of(row, key, str, where=f"{file}, judge", default="") for key in _OF_A_RUN}
    return parse_judge(":".join(texts[key] for key in _OF_A_RUN))


def _usual(row: dict[str, str]) -> dict[str, str]:
    return parse_judge(":".join(row.get(key, "") for key in _OF_A_RUN))
