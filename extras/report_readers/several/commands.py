"""What the command `report` does with several studies."""

from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.errors import BadParameters
from analysis.lifecycle.storage import check_output_folder, files_of_report, holds
from analysis.report.added_files import MORE

if TYPE_CHECKING:
    from analysis.data.arrays import Dataset


class SideBySide:
    """A report of each study with tables of all, and one report of all answers with `--pool`."""

    name = "several_studies"

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--pool",
            action="store_true",
            help="also build one report, in DIR/pooled, of studies that asked the same question",
        )

    def check(self, slugs: Sequence[str], options: Mapping[str, Any]) -> None:
        if options["pool"] and len(slugs) < 2:
            raise BadParameters("--pool needs at least two studies.")

    def pool(self, waves: Sequence["Dataset"]) -> "Dataset":
        from extras.report_readers.several.pooling import pool

        return pool(waves)

    def build(
        self,
        slugs: Sequence[str],
        out: Path,
        options: Mapping[str, Any],
        write_report: Callable[[Sequence[str], Path], dict[str, Any]],
    ) -> tuple[Path, list[str]]:
        from extras.report_readers.several.across import pooled_folders, write_across
        from extras.report_readers.several.pooling import plan_pools

        plan = plan_pools(slugs if options["pool"] else ())
        folders = pooled_folders(len(plan.groups))
        _check_output_folders(slugs, folders, out)
        # First, because it refuses studies with the same item in other words.
        pooled = [
            write_report(group, out / folder)
            for group, folder in zip(plan.groups, folders, strict=True)
        ]
        added = [extra for extra in MORE if options[extra.name]]
        results = [write_report([slug], out / slug) for slug in slugs]
        page = write_across([*results, *pooled], out, added=added, not_pooled=plan.not_pooled)
        return page, plan.not_pooled


def _check_output_folders(slugs: Sequence[str], pooled: Sequence[str], out: Path) -> None:
    folders = [out / name for name in (*slugs, *pooled)]
    # An earlier result has a page next to its tables; tables without one are other files.
    is_ours = (out / "report.html").exists() and any(
        holds(folder, "report") for folder in (out, *folders)
    )
    across = [path for extra in MORE for path in extra.paths_across]
    check_output_folder(out, ("report.html", "tables", "figures", *across), is_ours=is_ours)
    for folder in folders:
        check_output_folder(folder, files_of_report(), is_ours=holds(folder, "report"))


SEVERAL = SideBySide()
