"""The deviations as a list that writes itself, with reasons by researchers and computed effects."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from analysis.data.frozen_plan import FrozenPlan
from analysis.data.views import View
from analysis.errors import AnalysisError, BadParameters
from analysis.models import Report
from extras.frozen_plans.deviations import Deviation, deviations_of, effect_words
from extras.frozen_plans.plans import read_plan
from studies.models import Study
from studies.services.studies import lock_study, record

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
        (deviation["key"], deviation["done"]): deviation
        for deviation in ((newest.result or {}) if newest else {}).get("deviations", ())
    }

    def listed(deviation: Deviation) -> ListedDeviation:
        deviations = computed.get((deviation.key, deviation.done), {})
        why_not = deviation.why_not or deviations.get("effect_reason") or ""
        if not why_not and not deviations.get("effect"):
            why_not = _NO_REPORT
        reason = reasons.get(deviation.key, "")
        return ListedDeviation(deviation, reason, deviations.get("effect") or (), why_not)

    deviations = deviations_of(study, plan)
    if newest is not None:
        deviations += _not_computed(newest, plan)
    return plan, [listed(deviation) for deviation in deviations]


def _not_computed(report: Report, plan: FrozenPlan) -> Iterator[Deviation]:
    """The planned analyses of which a report has no number."""
    known = {
        analysis["analysis"]: analysis
        for analysis in (report.result or {})["registration"]["analyses"]
    }
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
    plan, listed = listed_deviations(study)
    known = {one.deviation.key: one for one in listed}
    if plan is None or key not in known:
        raise BadParameters("This deviation is no longer in the list. Look at the list again.")
    if reason != known[key].reason:
        record(study, EXPLAINED, user=user, deviation=key, reason=reason)


def deviations_as_json(study: Study) -> dict[str, Any]:
    """The list as JSON. Raises `AnalysisError` without a plan."""
    plan, listed = _with_plan(study)
    return {
        "schema": DEVIATIONS_SCHEMA,
        "study": {"slug": study.slug, "title": study.title},
        "plan": {"seal": plan.seal, "frozen_at": plan.frozen_at},
        "deviations": [
            {
                "key": one.deviation.key,
                "what": one.deviation.what,
                "registered": one.deviation.registered,
                "done": one.deviation.done,
                "on": one.deviation.on,
                "by": one.deviation.by,
                "reason": one.reason or None,
                "effect": list(one.effect) or None,
                **({} if one.effect else {"effect_reason": one.why_not}),
            }
            for one in listed
        ],
    }


def deviations_as_text(study: Study) -> str:
    """The list as Markdown: change, reason and effect of each, as an update at OSF asks for them.

    Raises `AnalysisError` without a plan.
    """
    plan, listed = _with_plan(study)
    lines = [
        f"# Deviations from the registered plan of “{study.title}”",
        "",
        f"Plan frozen on {plan.frozen_at[:10]} (UTC); seal (SHA-256): `{plan.seal}`",
    ]
    if not listed:
        lines += ["", "None: everything was done as registered."]
    for number, one in enumerate(listed, start=1):
        deviation = one.deviation
        when = " by ".join(filter(None, (deviation.on, deviation.by)))
        lines += [
            "",
            f"## {number}. {deviation.what}",
            "",
            f"**Change.** Registered: {_line(deviation.registered)}. Done: "
            f"{_line(deviation.done)}." + (f" When and by whom: {when}." if when else ""),
            "",
            f"**Reason.** {_line(one.reason) or 'Not given yet.'}",
            "",
        ]
        if not one.effect:
            lines.append(f"**Effect on the results.** Not computed: {one.why_not}.")
            continue
        lines += ["**Effect on the results.**", "", "| Result | With it | Without it |"]
        lines.append("| --- | --- | --- |")
        for row in one.effect:
            sides = (effect_words(row["with"]), effect_words(row["without"]))
            lines.append("| " + " | ".join([_line(row["result"]), *sides]) + " |")
    return "\n".join(lines) + "\n"


def _with_plan(study: Study) -> tuple[FrozenPlan, list[ListedDeviation]]:
    plan, listed = listed_deviations(study)
    if plan is None:
        raise AnalysisError(
            f"“{study.slug}” has no frozen analysis plan, so nothing can deviate from it."
        )
    return plan, listed


def _line(text: str) -> str:
    """A text in one line of Markdown, which keeps its full stop for the sentence around it."""
    return " ".join(text.split()).replace("|", "\\|").rstrip(".")


def effects_of_deviations(slug: str, *, bootstrap: int) -> list[dict[str, Any]]:
    """The deviations that can be undone in the data, each with its effect, for a report."""
    # These load the statistics.
    from analysis.data.dataset import load_dataset
    from analysis.report.build import main_results

    study = Study.objects.get(slug=slug)
    plan = read_plan(study)
    undone = (
        []
        if plan is None
        else [deviation for deviation in deviations_of(study, plan) if deviation.undone]
    )
    if plan is None or not undone:
        return []

    def results(view: View) -> dict[str, Any]:
        return main_results(
            load_dataset(slug, view),
            seed=plan.content["seed"],
            threshold=plan.content["threshold"],
            bootstrap=bootstrap,
        )

    own = results(View())
    return [_effect_entry(one, own, results) for one in undone]


def _effect_entry(
    deviation: Deviation, own: Mapping[str, Any], results: Callable[[View], Mapping[str, Any]]
) -> dict[str, Any]:
    effect, reason = None, ""
    try:
        effect = list(_effect_rows(own, results(View.of(dict(deviation.undone)))))
    except BadParameters as error:
        reason = str(error).rstrip(".")
    entry = {
        "key": deviation.key,
        "what": deviation.what,
        "registered": deviation.registered,
        "done": deviation.done,
        "on": deviation.on,
        "by": deviation.by,
        "effect": effect,
    }
    return entry if effect else entry | {"effect_reason": reason}


def _effect_rows(
    with_it: Mapping[str, Any], without: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """The main results with and without a deviation."""

    def share(entry: Mapping[str, Any] | None) -> dict[str, Any]:
        return {name: (entry or {}).get(name) for name in ("accuracy", "n")}

    yield {
        "result": "Majority of people",
        "with": share(with_it["majority"]),
        "without": share(without["majority"]),
    }
    ours, theirs = (
        {judge["run"]: judge for judge in side["judges"]} for side in (with_it, without)
    )
    for run in dict.fromkeys([*ours, *theirs]):
        named = ours.get(run) or theirs[run]
        yield {
            "result": f"{named['judge']} ({named['setting']}, {named['features']})",
            "with": share(ours.get(run)),
            "without": share(theirs.get(run)),
        }
    yield {
        "result": "Headline",
        "with": {"state": with_it["state"]},
        "without": {"state": without["state"]},
    }
