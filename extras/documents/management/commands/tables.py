"""tables STUDY… --layout paper --out DIR: the source article's tables and figures for studies."""

from argparse import ArgumentParser
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from analysis.errors import AnalysisError, BadParameters
from analysis.lifecycle.storage import check_output_folder, check_parameters
from studies.management.terminal import find_study, using


class Command(BaseCommand):
    help = (
        "Write Tables 1 to 8 and Figures 2 and 3 of the source article for one or several studies "
        "to DIR: CSV, LaTeX, Markdown, XLSX, SVG, PNG, and article.html, which shows them all. "
        "Each table has a line that says which runs fill it and which are missing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", nargs="+", help="short name of a study")
        parser.add_argument(
            "--layout", choices=["paper"], default="paper", help="rows and columns of the tables"
        )
        parser.add_argument("--out", required=True, help="folder to write to")
        parser.add_argument(
            "--threshold",
            type=int,
            help="high-certainty threshold (default: each study's, usually 80)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from analysis.data.dataset import load_dataset
        from extras.documents.article.counts import count_article
        from extras.documents.article.files import WRITTEN, write_article
        from studies.statements import clock

        out, threshold = Path(options["out"]), options["threshold"]
        slugs = list(dict.fromkeys(options["study"]))
        try:
            check_parameters(threshold=threshold, seed=None, bootstrap=None)
            studies = [find_study(slug) for slug in slugs]
            names = [path.name for pattern in WRITTEN for path in out.glob(pattern)]
            check_output_folder(out, names, is_ours={"article.html", "table_1.csv"} <= {*names})
            with ExitStack() as stack:
                for study in studies:
                    stack.enter_context(using(study, "documents"))
                data = [count_article(load_dataset(slug), threshold) for slug in slugs]
                written = write_article(data, out, date=clock.now().date())
        except BadParameters as error:
            raise CommandError(str(error), returncode=2) from None
        except AnalysisError as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(
                f"{out} cannot be written: {error.strerror}. Name another folder with --out."
            ) from None
        self.stdout.write(f"Wrote {len(written)} files to {out}, among them article.html.")
