"""What several data sets have in common: a judge minus people, tested over data sets.

Answers of data sets with different questions are never added up. Each data set counts once, by the
difference, standard error and degrees of freedom that its own report states.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from analysis.report.report_json import ReportJson
from analysis.report.words import asked_name, listed, points, reason
from analysis.stats.core.multiplicity import holm
from analysis.stats.core.results import t_quantile


@dataclass(frozen=True)
class CommonDifference:
    """A difference with its standard error and degrees of freedom."""

    value: float
    se: float
    df: float


@dataclass(frozen=True)
class OverDataSets:
    """The unweighted mean of several data sets' differences, and whether they differ.

    `p` tests a mean of 0, `p_apart` that all data sets have the same difference.
    """

    mean: CommonDifference
    ci: tuple[float, float]
    p: float
    p_apart: float


def over_data_sets(parts: Sequence[CommonDifference]) -> OverDataSets:
    """Combine two or more independent estimates by an unweighted mean, with Satterthwaite's df.

    The data sets are those of the list, not a sample of others. Whether they differ is Welch's test
    (1951), which allows for standard errors that differ and are themselves estimated.
    """
    value, se, df = (np.array([getattr(p, name) for p in parts]) for name in ("value", "se", "df"))
    variance, k = se**2, len(parts)
    total = float(variance.sum())
    mean = CommonDifference(
        float(value.mean()), total**0.5 / k, total**2 / float((variance**2 / df).sum())
    )
    half = t_quantile(mean.df, 0.975) * mean.se
    weight = 1 / variance
    share = weight / weight.sum()
    lost = float(((1 - share) ** 2 / df).sum())
    between = float(weight @ (value - share @ value) ** 2) / (k - 1)
    ratio = between / (1 + 2 * (k - 2) / (k**2 - 1) * lost)
    return OverDataSets(
        mean,
        (mean.value - half, mean.value + half),
        2 * float(special.stdtr(mean.df, -abs(mean.value / mean.se))),
        float(special.fdtrc(k - 1, (k**2 - 1) / (3 * lost), ratio)),
    )


@dataclass(frozen=True)
class CommonRun:
    """A judge that was asked in one setting on several data sets.

    `parts` has the comparison with people of each data set, by its title; `missing` says why others
    are not in the test. `combined` is None with fewer than two; `p_holm` and `p_apart_holm` are
    adjusted over all runs of the page.
    """

    name: str
    parts: Mapping[str, Mapping[str, Any]]
    missing: Mapping[str, str]
    combined: OverDataSets | None
    p_holm: float | None = None
    p_apart_holm: float | None = None

    @property
    def tested(self) -> list[str]:
        return [title for title in self.parts if title not in self.missing]

    @property
    def sentence(self) -> str:
        """What the test shows, with everything that it is about."""
        combined = self.combined
        if combined is None or self.p_holm is None or self.p_apart_holm is None:
            why = "; ".join(f"{title}: {words}" for title, words in self.missing.items())
            return f"{self.name}: fewer than two data sets can be compared ({why})."
        low, high = (f"{100 * end:+.1f}".replace("-", "−") for end in combined.ci)
        size = f"{abs(100 * combined.mean.value):.1f} points"
        if self.p_holm > LEVEL:
            words = "nothing shows that it is right more or less often than the majority of people"
        else:
            side = "more" if combined.mean.value > 0 else "less"
            words = f"it is right {side} often than the majority of people, by {size}"
        where = f"Averaged over {listed(self.tested)}"
        apart = "Nothing shows that its difference from people depends on the data set"
        if self.p_apart_holm <= LEVEL:
            values = {name: self.parts[name]["difference_general"]["value"] for name in self.tested}
            each = listed([f"{points(value)} points on {name}" for name, value in values.items()])
            apart = f"Its difference from people is not the same on all of them: {each}"
        return f"{self.name}. {where}, {words} (95 % interval {low} to {high}). {apart}."


LEVEL = 0.05  # after Holm's adjustment


def common_runs(reports: Sequence[ReportJson]) -> list[CommonRun]:
    """Runs with the whole persona that two or more reports have, with Holm over these runs."""
    by_run: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for title, report in zip(titles_of(reports), reports, strict=True):
        for versus in report["comparison"]:
            if versus["features"] == "all":
                key = asked_name(versus), versus["setting"]
                # Of two runs that were asked alike, the first counts.
                by_run.setdefault(key, {}).setdefault(title, versus)
    settings = {setting for (_, setting), parts in by_run.items() if len(parts) > 1}
    runs = [
        _common(name if len(settings) == 1 else f"{name} ({setting})", parts)
        for (name, setting), parts in by_run.items()
        if len(parts) > 1
    ]
    over = holm([run.combined.p if run.combined else None for run in runs])
    apart = holm([run.combined.p_apart if run.combined else None for run in runs])
    return [
        CommonRun(run.name, run.parts, run.missing, run.combined, p, p_apart)
        for run, p, p_apart in zip(runs, over, apart, strict=True)
    ]


def titles_of(reports: Sequence[ReportJson]) -> list[str]:
    """The title of each study, with its short name where others have the same title."""
    titles = [str(report["study"]["title"]) for report in reports]
    return [
        title if titles.count(title) == 1 else f"{title} ({report['study']['slug']})"
        for title, report in zip(titles, reports, strict=True)
    ]


def _common(name: str, parts: Mapping[str, Mapping[str, Any]]) -> CommonRun:
    missing = dict(_left_out(parts))
    known = [
        CommonDifference(*(part["difference_general"][key] for key in ("value", "se", "df")))
        for title, part in parts.items()
        if title not in missing
    ]
    return CommonRun(name, parts, missing, over_data_sets(known) if len(known) > 1 else None)


def _left_out(parts: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Data sets without a standard error, with the reason of their own report."""
    for title, part in parts.items():
        general = part["difference_general"]
        if general["value"] is None or general["se"] is None or general["df"] is None:
            codes = (general.get(f"{key}_reason") for key in ("value", "se", "df"))
            yield title, reason(next(filter(None, codes), None))
        elif general["se"] <= 0:
            yield title, reason("no_variation")
