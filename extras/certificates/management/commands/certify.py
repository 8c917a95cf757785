"""certify STUDY --judge J --out FILE: write a passport, or say how many labels that needs."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from analysis.errors import AnalysisError, BadParameters
from extras.certificates.choices import BY, SIGNALS, TARGETS
from studies.management.terminal import find_study, using

_WISH = (
    *("judge", "signal", "target", "error", "confidence", "among", "anchors", "by", "redraw"),
    *("setting", "features", "run"),
)


class Command(BaseCommand):
    help = (
        "Certify the value of a signal from which a judge's answers are good enough, and write a "
        "passport. If nothing can be certified, the command writes nothing, exits 1 and says how "
        "many labelled items would be needed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study with the labelled items")
        parser.add_argument("--judge", required=True, metavar="NAME", help="a judge or a jury")
        parser.add_argument(
            "--signal",
            default="stated",
            metavar="SIGNAL",
            help=f"one of {', '.join(SIGNALS)}, or a product such as stated*orders "
            "(default: stated)",
        )
        parser.add_argument(
            "--error", type=float, default=0.1, help="largest share of wrong answers (default 0.1)"
        )
        parser.add_argument(
            "--confidence",
            type=float,
            default=0.9,
            help="confidence that the share is not larger (default 0.9)",
        )
        parser.add_argument(
            "--target",
            choices=TARGETS,
            default="first_person",
            help="right answer: the personas' own, or the annotators' majority",
        )
        parser.add_argument(
            "--by",
            choices=BY,
            default="",
            help=(
                "what counts equally in the share of wrong answers: each item, or each persona "
                "regardless of its number of items (default: item if all personas have equally "
                "many items, otherwise persona)"
            ),
        )
        parser.add_argument(
            "--redraw",
            type=int,
            default=0,
            metavar="N",
            help="draw other items; the passport, the refusal and the study's log show the number",
        )
        parser.add_argument(
            "--among",
            type=int,
            default=1,
            metavar="N",
            help="number of judges, signals or errors that you choose from by their certificates",
        )
        parser.add_argument(
            "--anchors",
            type=int,
            default=100,
            metavar="N",
            help="items to freeze for rechecks (default 100)",
        )
        parser.add_argument("--setting", default="", help="of the run, if the judge has several")
        parser.add_argument("--features", default="", help="of the run, if the judge has several")
        parser.add_argument("--run", default="", metavar="ID", help="the run itself")
        parser.add_argument("--out", type=Path, required=True, metavar="FILE")

    def handle(self, *args: Any, **options: Any) -> None:
        from extras.certificates.certifying import CertificateWish, certify

        study = find_study(options["study"])
        wish = CertificateWish(**{name: options[name] for name in _WISH})
        try:
            with using(study, "certificates"):
                done = certify(study, wish)
                if done.passport is None:
                    raise CommandError(done.sentence)
                options["out"].write_text(done.passport.text(), "utf-8")
        except BadParameters as error:
            raise CommandError(str(error), returncode=2) from None
        except AnalysisError as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"{options['out']} cannot be written: {error.strerror}.") from None
        coverage = done.found.coverage or 0
        self.stdout.write(
            f"{done.sentence} It accepts {100 * coverage:.1f} % of the {done.found.n:,} items "
            f"that certified it. Wrote {options['out']} with "
            f"{len(done.passport['anchors']):,} anchors."
        )
        if done.by == "persona" and not options["by"]:
            self.stdout.write(
                "Every persona counts equally, because they have different numbers of items. To "
                "label items, certify with --by item, or with --by persona if more of the labels "
                "may be wrong."
            )
