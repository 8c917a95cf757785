"""Fixed parts of every report: rules, names of analyses, and registries for extras.

Pages and every process import this, so it loads no sections or statistics. When Django starts, an
extra adds its chapter or parts, and the labels of its analyses.
"""

import re
import tomllib
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from analysis.errors import BadParameters
from studies.extra import Kind, mapped

if TYPE_CHECKING:
    from analysis.data.arrays import Dataset
    from analysis.report.section import OwnPage, Section


# The script that draws figures in the app, below static/: of the version for which the package
# plotly writes them.
PLOTLY = "vendor/plotly/plotly-basic-4.1.1.min.js"

LEVEL = 0.05  # of tests, after adjustment
# With fewer answers, a cell is in italics and groups are not compared, or a cell is a count
# without a percentage.
SMALL = 30
TOO_SMALL = 10
MIN_COMPARED = 30  # with fewer items in common, the headline compares nothing
FULL_SHARE = 0.8  # below this share of their number, what annotators count as is shown
DEFAULT_SEED = 20240701  # of all resamples
DEFAULT_BOOTSTRAP = 1000  # resamples
# Accuracy that a threshold on certainty has to reach, chosen on half of the items or certified.
TARGET = 0.8


USUAL_ANALYSES = {
    "accuracy": "Accuracy of people and judges",
    "certain": "Accuracy of each side where it is certain",
    "difference": "Judge minus majority of people, in general and for these annotators",
    "equivalence": "Whether the two are equivalent within the margin",
    "calibration": (
        "Whether certainty separates right from wrong (ECE, Brier, AUROC, risk and coverage)"
    ),
    "certainty_beside": "Certainty of people and judges, and accuracy where both are certain",
    "agreement": "Agreement among people, and of judges with them",
    "replacement": "Whether the judge could replace an annotator (alt-test, kappa, leave one out)",
    "groups": "Topics, groups of personas, and who judges whom",
    "ablations": "Accuracy lost with less of the persona",
    "position": "Whether the side of the screen matters",
}


def analysis_titles() -> dict[str, str]:
    """Titles of the analyses of the core and of extras, by their code."""
    return USUAL_ANALYSES | mapped("analyses")


CHAPTERS: "Kind[Section]" = Kind("chapters")
# Pages of their own, made from report.json.
MORE_PAGES: "Kind[OwnPage]" = Kind("reports", "pages")


@cache
def parts_of(chapter: str) -> "Kind[Section]":
    """The parts of a chapter that are not of its own section."""
    return Kind("chapters", chapter)


class SeveralStudies(Protocol):
    """Reports on several studies, which an extra builds for the command `report`."""

    name: str

    def add_options(self, parser: ArgumentParser) -> None: ...

    def check(self, slugs: Sequence[str], options: Mapping[str, Any]) -> None:
        """Raise `BadParameters` if its options do not fit the studies; there may be only one."""

    def pool(self, waves: Sequence["Dataset"]) -> "Dataset":
        """The data of all of them as one. Raises `BadParameters` if they cannot be one."""

    def build(
        self,
        slugs: Sequence[str],
        out: Path,
        options: Mapping[str, Any],
        write_report: Callable[[Sequence[str], Path], dict[str, Any]],
    ) -> tuple[Path, list[str]]:
        """Write their reports and a page about all, which is returned with notes to print.

        `write_report` writes the report of a study, or of several as one, to a folder.
        """


SEVERAL_STUDIES: Kind[SeveralStudies] = Kind("reports", "several")


def several_studies() -> SeveralStudies:
    """The extra for reports on several studies. Raises `BadParameters` without one."""
    for extra in SEVERAL_STUDIES:
        return extra
    raise BadParameters("Reports here are on one study. Name one.")


_FILE = Path(__file__).resolve().parents[2] / "docs" / "methods" / "changes.toml"


@dataclass(frozen=True)
class MethodChange:
    """A change of a method, on an ISO date, and patterns of the values that it can change.

    Values that are gone are only in reports that were built before.
    """

    date: str
    title: str
    page: str
    values: tuple[str, ...]
    is_gone: bool = False

    def explains(self, path: str) -> bool:
        """Whether it can change the value of report.json at this path."""
        return any(re.search(pattern, path) for pattern in self.values)


@cache
def method_changes() -> tuple[MethodChange, ...]:
    """All changes, the newest first."""
    entries = tomllib.loads(_FILE.read_text("utf-8"))["change"]
    return tuple(
        MethodChange(
            str(one["date"]),
            one["title"],
            one["page"],
            tuple(one["values"]),
            one.get("gone", False),
        )
        for one in entries
    )
