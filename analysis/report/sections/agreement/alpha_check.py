"""Alpha computed a second time, by the package `krippendorff`, if that takes about a second."""

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Any, Literal

import numpy as np

from analysis.report.encode import Json, number, undefined
from analysis.report.section import Report, Section, Sentence
from analysis.report.study import ReportedStudy
from analysis.report.text.numbers import decimal
from analysis.stats.core.results import FloatArray, IntArray
from analysis.stats.core.votes import Votes

PACKAGE = "krippendorff"
# The package compares every two values of every item: two or three choices, up to 100 certainties.
MAX_CHOICES, MAX_CERTAINTIES = 100_000, 3_000
KINDS = ("choices", "certainty")
# Both programs add the same terms in another order.
TOLERANCE = 1e-9


class AlphaCheck(Section):
    """Alpha of choices and of certainty from another program, and whether it is the same."""

    name = "alpha_check"
    needs = ("agreement_coefficients",)

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        votes, found = study.votes, earlier["human"]["agreement"]
        stated = votes.take(~np.isnan(votes.certainty))
        check: Json = {"package": PACKAGE, "version": version(PACKAGE)}
        check["choices"] = _check(
            found["krippendorff_alpha"],
            "value",
            lambda: _alpha(votes.counts(), "nominal") if votes.n <= MAX_CHOICES else None,
        )
        check["certainty"] = _check(
            found,
            "certainty_alpha",
            lambda: _certainty_alpha(stated) if stated.n <= MAX_CERTAINTIES else None,
        )
        return {"human": {"agreement": {"alpha_check": check}}}

    def sentences(self, report: Report) -> Iterator[Sentence]:
        check = report["human"]["agreement"].get("alpha_check")
        if check and False in {check[kind]["agrees"] for kind in KINDS}:
            yield Sentence.of("missing", check_words(report))


def check_words(report: Report) -> str:
    """Sentence on whether both programs agree; empty without alpha."""
    check = report["human"]["agreement"].get("alpha_check", {})
    same = [kind for kind in KINDS if kind in check and check[kind]["agrees"]]
    words = []
    if same:
        of = " and of ".join(same)
        words.append(f"The package {_package(check)} computes the same alpha of {of}.")
    words += [_words(report, check, kind) for kind in KINDS if kind in check and kind not in same]
    return " ".join(filter(None, words))


def _package(check: Mapping[str, Any]) -> str:
    return f"{check['package']} {check['version']}"


def _words(report: Report, check: Mapping[str, Any], kind: str) -> str:
    """The reason why the other program has no alpha, or another one; empty if neither has any."""
    found = report["human"]["agreement"]
    ours = found["krippendorff_alpha"]["value"] if kind == "choices" else found["certainty_alpha"]
    theirs = check[kind]
    if ours is None:
        return ""
    if theirs["value"] is None:
        most = MAX_CHOICES if kind == "choices" else MAX_CERTAINTIES
        return (
            f"Alpha of {kind} was not computed again with the package {PACKAGE}, because there "
            f"are more than {most:,} answers."
        )
    other, own = decimal(theirs["value"], 6), decimal(ours, 6)
    return (
        f"The package {_package(check)} computes another alpha of {kind}: {other} instead of "
        f"{own}. Use neither before you know why."
    )


def _check(ours: Mapping[str, Any], key: str, compute: Callable[[], float | None]) -> Json:
    """The other program's alpha, and whether it equals ours."""
    if ours[key] is None:
        return undefined(ours[f"{key}_reason"], "value", "agrees")
    theirs = compute()
    if theirs is None:
        return undefined("too_large", "value", "agrees")
    return {"value": number(theirs), "agrees": abs(theirs - ours[key]) <= TOLERANCE}


def _certainty_alpha(votes: Votes) -> float:
    values, code = np.unique(votes.certainty, return_inverse=True)
    counts = np.zeros((votes.n_items, values.size), dtype=np.int64)
    np.add.at(counts, (votes.item, code), 1)
    return _alpha(counts, "interval", values)


def _alpha(
    counts: IntArray, level: Literal["nominal", "interval"], values: FloatArray | None = None
) -> float:
    import krippendorff

    return float(
        krippendorff.alpha(value_counts=counts, value_domain=values, level_of_measurement=level)
    )
