"""The main results of a study with and without each deviation from its plan, for its report."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from analysis.data.dataset import load_dataset
from analysis.data.deviations import Deviation, deviations_of
from analysis.data.plans import read_plan
from analysis.data.views import View
from analysis.errors import BadParameters
from analysis.report.build import main_results
from studies.models.studies import Study


def with_effects(slug: str, *, bootstrap: int) -> list[dict[str, Any]]:
    """The deviations that can be undone in the data, each with its effect, for a report."""
    study = Study.objects.get(slug=slug)
    plan = read_plan(study)
    found = [] if plan is None else [each for each in deviations_of(study, plan) if each.undone]
    if plan is None or not found:
        return []

    def results(view: View) -> dict[str, Any]:
        return main_results(
            load_dataset(slug, view),
            seed=plan.content["seed"],
            threshold=plan.content["threshold"],
            bootstrap=bootstrap,
        )

    own = results(View())
    return [_entry(each, own, results) for each in found]


def _entry(
    each: Deviation, own: Mapping[str, Any], results: Callable[[View], Mapping[str, Any]]
) -> dict[str, Any]:
    effect, reason = None, ""
    try:
        effect = list(_effect(own, results(View.of(dict(each.undone)))))
    except BadParameters as error:
        reason = str(error).rstrip(".")
    entry = {
        "key": each.key,
        "what": each.what,
        "registered": each.registered,
        "done": each.done,
        "on": each.on,
        "by": each.by,
        "effect": effect,
    }
    return entry if effect else entry | {"effect_reason": reason}


def _effect(with_it: Mapping[str, Any], without: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The main results with and without a deviation."""

    def share(entry: Mapping[str, Any] | None) -> dict[str, Any]:
        return {name: (entry or {}).get(name) for name in ("accuracy", "n")}

    yield {
        "result": "Majority of people",
        "with": share(with_it["majority"]),
        "without": share(without["majority"]),
    }
    ours, theirs = ({each["run"]: each for each in side["judges"]} for side in (with_it, without))
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
