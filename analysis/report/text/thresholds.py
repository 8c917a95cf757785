"""The origin of the threshold of high certainty, in words."""

from collections.abc import Mapping
from typing import Any

Report = Mapping[str, Any]


def threshold_words(report: Report) -> str:
    """The threshold and its origin: “80, set before the data”."""
    parameters = report["parameters"]
    kind = "explored" if parameters["explored"] else threshold_standing(report)
    return f"{parameters['threshold']}, {kind}"


def threshold_standing(report: Report) -> str:
    """The origin of the study's own threshold; only a plan before the data registers anything."""
    changes = report["registration"]["late_changes"]
    if any(change["setting"] == "threshold" for change in changes):
        return "changed after the first data"
    plan = report["registration"]["plan"]
    return "registered" if plan and plan["before_data"] else "set before the data"


def chosen(report: Report) -> str:
    return f"set {report['parameters']['threshold_chosen']}".replace("set post hoc", "post hoc")


def late_changes(report: Report) -> list[str]:
    """Changes to the reading of answers that were made after the first answer."""
    forms = {
        "threshold": ("High certainty", 1, "from {:g}"),
        "margin": ("The margin of equivalence", 100, "{:g} points"),
    }
    sentences = []
    for change in report["registration"]["late_changes"]:
        what, unit, form = forms[change["setting"]]
        before, after = (form.format(change[key] * unit) for key in ("before", "after"))
        sentences.append(
            f"{what} was changed on {change['on']}, after the first data had arrived: it was "
            f"{before} and became {after}. What rests on it was chosen post hoc."
        )
    return sentences
