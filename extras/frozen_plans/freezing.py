"""Freezing a study's analysis plan, once, with a hash and a time."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from analysis.data.frozen_plan import USUAL_FRAMING, FrozenPlan
from analysis.errors import BadParameters, PlanIsFrozen
from analysis.lifecycle.storage import check_parameters
from analysis.report.rules import DEFAULT_BOOTSTRAP, DEFAULT_SEED, USUAL_ANALYSES, analysis_titles
from extras.frozen_plans.models import AnalysisPlan
from extras.frozen_plans.plans import (
    data_so_far,
    framings,
    read_plan,
    run_settings,
    seal_now,
    wording_of,
)
from studies.models import Item, Study
from studies.services.studies import lock_study, record
from studies.statements import clock

SCHEMA = "thirdperson.plan/1"
MARGIN_RANGE = (0.001, 0.5)
MAX_TEXT = 20_000


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
            "analyses": [code for code in analysis_titles() if code in analyses],
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


_NEED_TRUTH = {"accuracy", "certain", "difference", "equivalence", "calibration", "ablations"}


def usual_analyses(study: Study, judges: Sequence[Mapping[str, str]]) -> list[str]:
    """The analyses of the core that the study can compute with these planned runs.

    Those of extras are for rare designs, and a plan names them if they are wanted.
    """
    items = Item.objects.filter(study=study)
    left_out = set()
    if study.asks_own_answers or (items.exists() and not items.exclude(first_person="").exists()):
        left_out |= _NEED_TRUTH
    of_people = study.ask_certainty
    of_judges = not judges or any(judge["setting"] == "certainty" for judge in judges)
    if not (of_people and of_judges):
        left_out.add("certainty_beside")
    if not (of_people or of_judges):
        left_out |= {"certain", "calibration"}
    if len({judge["features"] for judge in judges}) < 2:
        left_out.add("ablations")
    return [code for code in USUAL_ANALYSES if code not in left_out]


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
    wording = wording_of(study, judge["wording"])
    if wording is None:
        raise BadParameters(f"The study has no wording “{judge['wording']}”. Use NAME@VERSION.")
    reference, sha256 = wording
    return {**judge, "wording": reference, "wording_sha256": sha256}


def _checked(content: dict[str, Any], *, asked: Sequence[str]) -> dict[str, Any]:
    check_parameters(**{key: content[key] for key in ("threshold", "seed", "bootstrap")})
    low, high = MARGIN_RANGE
    if not low <= content["margin"] <= high:
        raise BadParameters(f"The margin is {content['margin']}. Use {low} to {high}.")
    if unknown := sorted(set(asked) - analysis_titles().keys()):
        raise BadParameters(
            f"There is no analysis “{unknown[0]}”. A plan can name: {', '.join(analysis_titles())}."
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
