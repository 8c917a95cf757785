"""Compare another program's statistics with the reference cases in vectors.json."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from analysis import stats

VECTORS = Path(__file__).with_name("vectors.json")
AGREES, DIFFERS, MISSING = "agrees", "differs", "missing"
ConformanceJson = Mapping[str, Any]


@dataclass(frozen=True)
class ConformanceOutcome:
    """The outcome of one case; `detail` names the first value that differs."""

    case: str
    statistic: str
    state: str
    detail: str = ""


class BadResults(ValueError):
    """The file of results cannot be read."""


def load_cases(path: Path = VECTORS) -> list[ConformanceJson]:
    """The cases of the suite."""
    cases: list[ConformanceJson] = json.loads(path.read_text("utf-8"))["cases"]
    return cases


def compare(
    results: ConformanceJson, cases: Sequence[ConformanceJson]
) -> Iterator[ConformanceOutcome]:
    """The outcome of each case."""
    for case in cases:
        given = results.get(case["id"])
        if given is None:
            yield ConformanceOutcome(case["id"], case["statistic"], MISSING)
            continue
        detail = next(_differences(case, given), "")
        state = DIFFERS if detail else AGREES
        yield ConformanceOutcome(case["id"], case["statistic"], state, detail)


def _differences(case: ConformanceJson, given: Any) -> Iterator[str]:
    if not isinstance(given, Mapping):
        yield "the result is not an object"
        return
    for key, expected in case["expected"].items():
        found = given.get(key)
        if not _is_close(found, expected, case["tolerance"]):
            yield f"{key} is {json.dumps(found)}, expected {json.dumps(expected)}"


def _is_close(found: Any, expected: Any, tolerance: float) -> bool:
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(_is_close(a, b, tolerance) for a, b in zip(found, expected, strict=True))
        )
    if isinstance(found, bool) or not isinstance(found, int | float):
        return False
    return math.isclose(found, expected, rel_tol=0, abs_tol=tolerance or 1e-12)


def own_results(cases: Sequence[ConformanceJson]) -> dict[str, ConformanceJson]:
    """The results of our own statistics."""
    return {case["id"]: _OWN[case["statistic"]](case["inputs"]) for case in cases}


def _krippendorff_alpha(given: ConformanceJson) -> ConformanceJson:
    table = np.array(given["ratings"], dtype=float).T
    values = np.unique(table[~np.isnan(table)])
    counts = (table[:, :, None] == values).sum(axis=1)
    alpha = stats.krippendorff_alpha(counts, metric=given["metric"], values=values)
    return {"alpha": alpha.value}


def _ends(interval: stats.Interval | None) -> ConformanceJson:
    return {"low": interval.low, "high": interval.high} if interval else {}


def _of_counts(name: str, key: str) -> Callable[[ConformanceJson], ConformanceJson]:
    def compute(given: ConformanceJson) -> ConformanceJson:
        return {key: float(getattr(stats, name)(given["counts"]).value)}

    return compute


def _cohen_kappa(given: ConformanceJson) -> ConformanceJson:
    pairs = [
        (row, column)
        for row, cells in enumerate(given["table"])
        for column, cell in enumerate(cells)
        for _ in range(cell)
    ]
    kappa = stats.cohen_kappa(*zip(*pairs, strict=True))
    return {"kappa": kappa.value, **_ends(kappa.interval)}


def _wilson_interval(given: ConformanceJson) -> ConformanceJson:
    found = stats.wilson_interval(given["correct"], given["n"], level=given["level"])
    return _ends(found)


def _pairs(given: ConformanceJson) -> Any:
    return stats.PairedCounts(b=given["b"], c=given["c"], n=given["n"])


def _mcnemar(given: ConformanceJson) -> ConformanceJson:
    found = stats.mcnemar(_pairs(given))
    return {"p_exact": found.p, "p_mid": found.p_mid}


def _tango_interval(given: ConformanceJson) -> ConformanceJson:
    found = stats.tango_interval(_pairs(given), level=given["level"])
    return _ends(found)


def _calibration(given: ConformanceJson) -> ConformanceJson:
    sides = (given["certainty"], given["correct"])
    error = stats.calibration_error(*sides)
    return {
        "ece": error.ece,
        "mce": error.mce,
        "brier": stats.brier_score(*sides).value,
        "auroc": stats.discrimination(*sides).auroc,
        "aurc": stats.risk_coverage(*sides).aurc,
    }


def _certainty_comparison(given: ConformanceJson) -> ConformanceJson:
    from extras.certainty.stats import compare_certainty  # of an extra, which may be deleted

    found = compare_certainty(given["people"], given["model"])
    names = ("pearson", "spearman", "kendall", "concordance", "wilcoxon_p")
    return {name: getattr(found, name) for name in names}


def _adjusted(name: str) -> Callable[[ConformanceJson], ConformanceJson]:
    def compute(given: ConformanceJson) -> ConformanceJson:
        return {"adjusted": [float(p) for p in getattr(stats, name)(given["p"])]}

    return compute


def _fewest_items(given: ConformanceJson) -> ConformanceJson:
    return {"n": stats.fewest_items(given["max_error"], given["delta"])}


def _mcnemar_items(given: ConformanceJson) -> ConformanceJson:
    options = {name: given[name] for name in ("level", "power")}
    return {"n": stats.mcnemar_items(given["only_first"], given["only_second"], **options)}


def _alt_test(given: ConformanceJson) -> ConformanceJson:
    votes = stats.Votes.from_matrix(np.array(given["labels"]))
    options = {"epsilon": given["epsilon"], "q": given["q"]}
    found = stats.alt_test(votes, given["model"], **options)
    return {"omega": found.omega, "rho": found.rho}


_OWN: Mapping[str, Callable[[ConformanceJson], ConformanceJson]] = {
    "krippendorff_alpha": _krippendorff_alpha,
    "fleiss_kappa": _of_counts("fleiss_kappa", "kappa"),
    "brennan_prediger": _of_counts("brennan_prediger", "coefficient"),
    "gwet_ac1": _of_counts("gwet_ac", "ac1"),
    "cohen_kappa": _cohen_kappa,
    "wilson_interval": _wilson_interval,
    "mcnemar": _mcnemar,
    "tango_interval": _tango_interval,
    "calibration": _calibration,
    "certainty_comparison": _certainty_comparison,
    "holm": _adjusted("holm"),
    "benjamini_yekutieli": _adjusted("benjamini_yekutieli"),
    "fewest_items": _fewest_items,
    "mcnemar_items": _mcnemar_items,
    "alt_test": _alt_test,
}


def read_results(path: Path) -> ConformanceJson:
    """The results of a program. Raises `BadResults`."""
    try:
        results = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadResults(f"{path} cannot be read: {error}") from None
    if not isinstance(results, dict):
        raise BadResults(f"{path} must contain an object with a result for each id.")
    return results
