"""A study's analysis plan: frozen once with a hash and a time, and the deviations from it.

The list of deviations writes itself; a researcher adds the reasons, and every report computes the
effects.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from analysis.data.deviations import Deviation, deviations_of
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
from analysis.models import AnalysisPlan, Report
from analysis.report.rules import ANALYSES, DEFAULT_BOOTSTRAP, DEFAULT_SEED
from analysis.report.words import effect_words
from studies.models.studies import Study
from studies.services.studies import lock_study, record
from studies.statements import clock

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


DEVIATIONS_SCHEMA = "thirdperson.deviations/1"
# An event of the study's log. Logs of existing studies contain this text.
EXPLAINED = "deviation explained"
LONGEST_REASON = 5_000
_NO_REPORT = "no report was built since; build one"


@dataclass(frozen=True)
class ListedDeviation:
    """A deviation with the reason that a researcher gave, and its effect on the results.

    `effect` has the main results with and without it; empty where `why_not` says why.
    """

    deviation: Deviation
    reason: str
    effect: Sequence[Mapping[str, Any]]
    why_not: str


def listed_deviations(study: Study) -> tuple[FrozenPlan | None, list[ListedDeviation]]:
    """The plan of a study, if any, and the deviations from it. Raises `AnalysisError`."""
    plan = read_plan(study)
    if plan is None:
        return None, []
    built = Report.own.filter(study=study, state=Report.State.DONE).order_by("-number")
    newest = built.select_related("requested_by").first()
    rows = study.log.filter(event=EXPLAINED).order_by("pk").values_list("detail", flat=True)
    reasons = {row["deviation"]: row["reason"] for row in rows}
    computed = {
        (each["key"], each["done"]): each
        for each in ((newest.result or {}) if newest else {}).get("deviations", ())
    }

    def listed(each: Deviation) -> ListedDeviation:
        found = computed.get((each.key, each.done), {})
        why_not = each.why_not or found.get("effect_reason") or ""
        if not why_not and not found.get("effect"):
            why_not = _NO_REPORT
        reason = reasons.get(each.key, "")
        return ListedDeviation(each, reason, found.get("effect") or (), why_not)

    found = deviations_of(study, plan)
    if newest is not None:
        found += _not_computed(newest, plan)
    return plan, [listed(each) for each in found]


def _not_computed(report: Report, plan: FrozenPlan) -> Iterator[Deviation]:
    """The planned analyses of which a report has no number."""
    known = {each["analysis"]: each for each in (report.result or {})["registration"]["analyses"]}
    for code in plan.content["analyses"]:
        entry = known.get(code, {"not_computed": "this installation lacks the analysis"})
        if why := entry.get("not_computed"):
            yield Deviation(
                f"analysis-{code}",
                "Planned analysis",
                entry.get("label", code),
                f"Not computed in report v{report.number}: {why}",
                f"{report.created_at:%Y-%m-%d}",
                report.requested_by.get_username() if report.requested_by else "a command",
                why_not="the analysis has no result",
            )


@transaction.atomic
def explain_deviation(*, study_id: int, key: str, reason: str, user: User | None = None) -> None:
    """Store the reason for a deviation; the log keeps earlier ones. Raises `BadParameters`."""
    study = lock_study(study_id)
    reason = reason.strip()
    if len(reason) > LONGEST_REASON:
        raise BadParameters(f"The reason is too long. Use at most {LONGEST_REASON:,} characters.")
    plan, found = listed_deviations(study)
    known = {each.deviation.key: each for each in found}
    if plan is None or key not in known:
        raise BadParameters("This deviation is no longer in the list. Look at the list again.")
    if reason != known[key].reason:
        record(study, EXPLAINED, user=user, deviation=key, reason=reason)


def deviations_as_json(study: Study) -> dict[str, Any]:
    """The list as JSON. Raises `AnalysisError` without a plan."""
    plan, found = _with_plan(study)
    return {
        "schema": DEVIATIONS_SCHEMA,
        "study": {"slug": study.slug, "title": study.title},
        "plan": {"seal": plan.seal, "frozen_at": plan.frozen_at},
        "deviations": [
            {
                "key": each.deviation.key,
                "what": each.deviation.what,
                "registered": each.deviation.registered,
                "done": each.deviation.done,
                "on": each.deviation.on,
                "by": each.deviation.by,
                "reason": each.reason or None,
                "effect": list(each.effect) or None,
                **({} if each.effect else {"effect_reason": each.why_not}),
            }
            for each in found
        ],
    }


def deviations_as_text(study: Study) -> str:
    """The list as Markdown: change, reason and effect of each, as an update at OSF asks for them.

    Raises `AnalysisError` without a plan.
    """
    plan, found = _with_plan(study)
    lines = [
        f"# Deviations from the registered plan of “{study.title}”",
        "",
        f"Plan frozen on {plan.frozen_at[:10]} (UTC); seal (SHA-256): `{plan.seal}`",
    ]
    if not found:
        lines += ["", "None: everything was done as registered."]
    for number, each in enumerate(found, start=1):
        deviation = each.deviation
        when = " by ".join(filter(None, (deviation.on, deviation.by)))
        lines += [
            "",
            f"## {number}. {deviation.what}",
            "",
            f"**Change.** Registered: {_line(deviation.registered)}. Done: "
            f"{_line(deviation.done)}." + (f" When and by whom: {when}." if when else ""),
            "",
            f"**Reason.** {_line(each.reason) or 'Not given yet.'}",
            "",
        ]
        if not each.effect:
            lines.append(f"**Effect on the results.** Not computed: {each.why_not}.")
            continue
        lines += ["**Effect on the results.**", "", "| Result | With it | Without it |"]
        lines.append("| --- | --- | --- |")
        for row in each.effect:
            sides = (effect_words(row["with"]), effect_words(row["without"]))
            lines.append("| " + " | ".join([_line(row["result"]), *sides]) + " |")
    return "\n".join(lines) + "\n"


def _with_plan(study: Study) -> tuple[FrozenPlan, list[ListedDeviation]]:
    plan, found = listed_deviations(study)
    if plan is None:
        raise AnalysisError(
            f"“{study.slug}” has no frozen analysis plan, so nothing can deviate from it."
        )
    return plan, found


def _line(text: str) -> str:
    """A text in one line of Markdown, which keeps its full stop for the sentence around it."""
    return " ".join(text.split()).replace("|", "\\|").rstrip(".")
