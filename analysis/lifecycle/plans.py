"""A study's analysis plan: frozen once with a hash and a time, and as a study file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from analysis.data.frozen_plan import USUAL_FRAMING, FrozenPlan
from analysis.data.plans import (
    data_so_far,
    framings,
    read_plan,
    run_settings,
    seal_now,
    wording_of,
)
from analysis.errors import AnalysisError, BadParameters, PlanIsFrozen
from analysis.lifecycle.storage import check_parameters
from analysis.models import AnalysisPlan
from analysis.report.rules import ANALYSES, DEFAULT_BOOTSTRAP, DEFAULT_SEED
from studies.errors import FrozenStudy, StudyError
from studies.models.studies import Study
from studies.services.studies import lock_study, record
from studies.statements import clock
from studies.study_files.folder import Folder, tables_of, to_toml, value_of

SCHEMA = "thirdperson.plan/1"
MARGIN_RANGE = (0.001, 0.5)
MAX_TEXT = 20_000


@dataclass(frozen=True)
class Registered:
    """Default parameters of a report: the plan's values, or the general defaults."""

    threshold: int
    margin: float
    seed: int
    bootstrap: int


def registered(study: Study) -> Registered:
    """Read the values for pages and defaults. Only building a report checks the seal."""
    plan = AnalysisPlan.objects.filter(study=study).first()
    fixed: Mapping[str, Any] = plan.content if plan else {}
    return Registered(
        threshold=fixed.get("threshold", study.certainty_threshold),
        margin=fixed.get("margin", study.equivalence_margin),
        seed=fixed.get("seed", DEFAULT_SEED),
        bootstrap=fixed.get("bootstrap", DEFAULT_BOOTSTRAP),
    )


@transaction.atomic
def freeze_plan(
    *,
    study_id: int,
    user: User | None = None,
    threshold: int | None = None,
    margin: float | None = None,
    analyses: Sequence[str],
    judges: Sequence[Mapping[str, str]] = (),
    exclusions: str = "",
    hypotheses: str = "",
    seed: int = DEFAULT_SEED,
    bootstrap: int = DEFAULT_BOOTSTRAP,
    dry_run: bool = False,
) -> FrozenPlan:
    """Store the plan with the current items, design and number of answers.

    Threshold and margin are the study's own unless given; empty `exclusions` mean that nobody is
    excluded. Raises `PlanIsFrozen` if the study has a plan, `BadParameters` for invalid values.
    `dry_run` checks and stores nothing.
    """
    # The lock prevents a second plan. Answers count once they are stored.
    study = lock_study(study_id)
    if (old := read_plan(study)) is not None:
        raise PlanIsFrozen(
            f"The plan of “{study.slug}” was frozen on {old.frozen_at[:16]} ({old.seal[:12]}…) and "
            "cannot be changed. The report marks other values as explored."
        )
    content = _checked(
        {
            "schema": SCHEMA,
            "study": study.slug,
            "threshold": study.certainty_threshold if threshold is None else threshold,
            "margin": study.equivalence_margin if margin is None else margin,
            "analyses": [code for code in ANALYSES if code in analyses],
            "judges": [_sealed(study, judge) for judge in judges],
            "exclusions": exclusions.strip(),
            "hypotheses": hypotheses.strip(),
            "seed": seed,
            "bootstrap": bootstrap,
        },
        asked=analyses,
    )
    content["sealed"] = seal_now(study, content["judges"])
    answers, judgments = data_so_far(study)
    now = clock.now()
    plan = FrozenPlan(content, answers, judgments, now.isoformat())
    plan = replace(plan, seal=plan.sealed())
    if not dry_run:
        AnalysisPlan.objects.create(
            study=study,
            content=content,
            answers=answers,
            judgments=judgments,
            seal=plan.seal,
            frozen_at=now,
            frozen_by=user,
        )
        record(study, "analysis plan frozen", user=user, seal=plan.seal)
    return plan


def parse_judge(text: str) -> dict[str, str]:
    """Parse “NAME : SETTING : FEATURES : WORDING : FRAMING” of a planned run.

    Only the name is required. Defaults: setting `certainty`, features `all`, the protocol's words,
    and the usual framing. Raises `BadParameters`.
    """
    parts = [part.strip() for part in text.split(":")]
    name, setting, features, wording, framing = (*parts, *[""] * 4)[:5]
    if not name or len(parts) > 5:
        raise BadParameters(
            f"“{text}” is not a run. Use NAME : SETTING : FEATURES : WORDING : FRAMING."
        )
    if setting and setting not in run_settings():
        settings = ", ".join(run_settings())
        raise BadParameters(f"“{setting}” is not a setting. Use one of: {settings}.")
    if framing and framing not in framings():
        raise BadParameters(f"“{framing}” is not a framing. Use one of: {', '.join(framings())}.")
    run = {"judge": name, "setting": setting or "certainty", "features": features or "all"}
    if wording:
        run["wording"] = wording
    if framing and framing != USUAL_FRAMING:
        run["framing"] = framing
    return run


def _sealed(study: Study, judge: Mapping[str, str]) -> dict[str, str]:
    """A planned run with the version and hash of its wording. Raises `BadParameters`."""
    if "wording" not in judge:
        return dict(judge)
    found = wording_of(study, judge["wording"])
    if found is None:
        raise BadParameters(f"The study has no wording “{judge['wording']}”. Use NAME@VERSION.")
    reference, sha256 = found
    return {**judge, "wording": reference, "wording_sha256": sha256}


def _checked(content: dict[str, Any], *, asked: Sequence[str]) -> dict[str, Any]:
    check_parameters(**{key: content[key] for key in ("threshold", "seed", "bootstrap")})
    low, high = MARGIN_RANGE
    if not low <= content["margin"] <= high:
        raise BadParameters(f"The margin is {content['margin']}. Use {low} to {high}.")
    if unknown := sorted(set(asked) - ANALYSES.keys()):
        raise BadParameters(
            f"There is no analysis “{unknown[0]}”. A plan can name: {', '.join(ANALYSES)}."
        )
    if not content["analyses"]:
        raise BadParameters("Name at least one analysis in the plan.")
    for key in ("exclusions", "hypotheses"):
        if len(content[key]) > MAX_TEXT:
            raise BadParameters(f"The {key} are too long. Use at most {MAX_TEXT:,} characters.")
    runs = [tuple(sorted(judge.items())) for judge in content["judges"]]
    if len(set(runs)) < len(runs):
        raise BadParameters("The plan names the same run twice.")
    return content


_KINDS: dict[str, type] = {
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
        return {} if plan is None else {self.file: to_toml(_table(plan.content))}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        content = folder.toml(file, known=(*_KINDS, "judge"))
        values: dict[str, Any] = {
            name: value_of(content, name, kind, where=file) for name, kind in _KINDS.items()
        }
        if not all(isinstance(code, str) for code in values["analyses"]):
            raise StudyError(f"{file}: analyses must be a list of codes in quotes.")
        # In the order in which a plan stores them; freezing refuses unknown ones.
        values["analyses"].sort(key=[*ANALYSES, *values["analyses"]].index)
        try:
            runs = [_run(row, file) for row in tables_of(content, "judge", where=file)]
            old = read_plan(study)
            if old is None:
                freeze_plan(study_id=study.pk, user=user, judges=runs, **values)
                return ["The analysis plan is now frozen and cannot be changed."]
        except AnalysisError as error:
            raise StudyError(f"{file}: {error}") from error
        table = _table(old.content)
        if {**values, "judge": runs} != {**table, "judge": [_usual(row) for row in table["judge"]]}:
            raise FrozenStudy(
                f"{file}: “{study.slug}” has a different analysis plan, frozen on "
                f"{old.frozen_at[:16]}, which cannot be changed. Remove “analysis_plan” from "
                "study.toml."
            )
        return []


def _table(content: Any) -> dict[str, Any]:
    """A plan without values that follow from the study: its name and hashes of wordings."""
    runs = [{key: run[key] for key in _OF_A_RUN if key in run} for run in content["judges"]]
    return {**{name: content[name] for name in _KINDS}, "judge": runs}


def _run(row: dict[str, Any], file: str) -> dict[str, str]:
    texts = {key: value_of(row, key, str, where=f"{file}, judge", default="") for key in _OF_A_RUN}
    return parse_judge(":".join(texts[key] for key in _OF_A_RUN))


def _usual(row: dict[str, str]) -> dict[str, str]:
    return parse_judge(":".join(row.get(key, "") for key in _OF_A_RUN))
