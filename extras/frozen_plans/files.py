"""A plan as files: one of the study as files, and documents for archives and bundles."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from analysis.errors import AnalysisError
from analysis.exports.catalogue import StudyDocument
from analysis.exports.table_files import to_json
from analysis.report.rules import analysis_titles
from extras.frozen_plans.deviation_list import deviations_as_json, deviations_as_text
from extras.frozen_plans.freezing import freeze_plan, parse_judge
from extras.frozen_plans.plans import read_plan
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
        values["analyses"].sort(key=[*analysis_titles(), *values["analyses"]].index)
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


STUDY_FILE = PlanFile()

_README = """# Analysis plan of “{title}”

Frozen on {frozen_at} (UTC), with {answers:,} answers and {judgments:,} judgments collected.

Seal (SHA-256): `{seal}`

`plan.json` holds the plan: threshold, margin, seed, resamples, planned analyses and runs,
exclusions and hypotheses. The seal is a hash of its content. Anyone can check it:

```python
import hashlib
import json

with open("plan.json", encoding="utf-8") as file:
    found = json.load(file)
names = ("content", "answers", "judgments", "frozen_at")
sealed = {{name: found[name] for name in names}} | {{"seal": ""}}
text = json.dumps(sealed, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
digest = hashlib.sha256(f"plan:{{len(text)}}:{{text}}\\n".encode()).hexdigest()
print("unchanged" if digest == found["seal"] else "not the plan that was frozen")
```

The time in the plan is that of the installation that froze it. The archive of this file states
independently when it received it.
"""


def plan_files(study: Study) -> Mapping[str, str]:
    """The frozen plan, and how to check it; nothing without a plan. Raises `AnalysisError`."""
    plan = read_plan(study)
    if plan is None:
        return {}
    content = {
        "schema": "thirdperson.sealed-plan/1",
        "study": {"slug": study.slug, "title": study.title},
        "content": plan.content,
        "answers": plan.answers,
        "judgments": plan.judgments,
        "frozen_at": plan.frozen_at,
        "seal": plan.seal,
    }
    readme = _README.format(
        title=study.title,
        frozen_at=plan.frozen_at[:16].replace("T", " "),
        answers=plan.answers,
        judgments=plan.judgments,
        seal=plan.seal,
    )
    return {"plan.json": to_json(content, indent=1) + "\n", "plan.md": readme}


def deviation_files(study: Study) -> Mapping[str, str]:
    """The deviations from the plan; nothing without one. Raises `AnalysisError`."""
    if read_plan(study) is None:
        return {}
    return {
        "deviations.json": to_json(deviations_as_json(study), indent=1) + "\n",
        "deviations.md": deviations_as_text(study),
    }


PLAN = StudyDocument(
    name="plan",
    words="A plan",
    title="Analysis plan of",
    description="A frozen analysis plan with its seal. README.md says how to check it.",
    lacks="“{study}” has no frozen analysis plan. Freeze one on its page Analysis plan or with "
    "freeze_plan {study}.",
    files=plan_files,
)
DEVIATIONS = StudyDocument(
    name="deviations",
    words="A list of deviations",
    title="Deviations from the analysis plan of",
    description="What was done otherwise than in the frozen analysis plan: change, reason and "
    "effect.",
    lacks="“{study}” has no frozen analysis plan, so nothing can deviate from it.",
    files=deviation_files,
    follows_answers=True,
)
