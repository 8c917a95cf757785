"""publish_bundle STUDY: send the anonymous bundle or the sealed plan to a public archive."""

import getpass
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from analysis.errors import AnalysisError
from analysis.exports.catalogue import DOCUMENTS, LICENCES
from extras.publication.connection import Leaving
from extras.publication.publish import (
    ARCHIVES,
    TOKENS,
    Wish,
    obstacles,
    prepared,
    publish,
)
from studies.errors import StudyError
from studies.management.terminal import find_study


class Command(BaseCommand):
    help = (
        "Send the anonymous bundle of a study to the Hugging Face hub, OSF or Zenodo, or its "
        "frozen analysis plan to OSF or Zenodo. It arrives as a private draft, which you publish "
        "there. Run the same command again after an interruption: it sends only what is missing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        tokens = ", ".join(f"{name} for {to}" for to, name in TOKENS.items())
        parser.add_argument(
            "--to",
            choices=ARCHIVES,
            required=True,
            help=f"the archive; your token is read from the environment: {tokens}",
        )
        parser.add_argument(
            "--what",
            choices=["bundle", *(document.name for document in DOCUMENTS)],
            default="bundle",
            help="default: bundle",
        )
        parser.add_argument(
            "--licence", choices=LICENCES, default="", help="licence of the answers"
        )
        parser.add_argument(
            "--repo", default="", metavar="OWNER/NAME", help="name of the data set on the hub"
        )
        parser.add_argument(
            "--server",
            default="",
            metavar="URL",
            help="another server of the archive, such as https://sandbox.zenodo.org to try it",
        )
        parser.add_argument(
            "--without-texts",
            action="store_true",
            help="send ids and hashes of items, because the source forbids passing their texts on",
        )
        parser.add_argument(
            "--consent-covers-sharing",
            action="store_true",
            help="confirm that the consent text covers publishing answers without names",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would be sent, and send nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        names = ("to", "what", "licence", "repo", "server", "without_texts")
        wish = Wish(
            study=find_study(options["study"]),
            consent_covers_sharing=options["consent_covers_sharing"],
            **{name: options[name] for name in names},
        )
        reasons = obstacles(wish)
        if reasons and not options["dry_run"]:
            raise CommandError("\n".join(["Nothing was sent.", *reasons]))
        try:
            with prepared(wish) as files:
                self._list(wish, files)
                if options["dry_run"]:
                    self._end_dry_run(reasons)
                    return
                by = f"{getpass.getuser()}, at the command line"
                address = publish(wish, files, on_file=self._report, by=by)
        except (AnalysisError, StudyError) as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"The files cannot be written: {error.strerror}.") from None
        self.stdout.write(f"A private draft, for you to check and publish there: {address}")

    def _list(self, wish: Wish, files: tuple[Leaving, ...]) -> None:
        """List every file to send, with its size and checksum, and the terms."""
        self.stdout.write(f"To {wish.address}, as a private draft:")
        for file in files:
            self.stdout.write(f"{file.size:>12,} bytes  {file.sha256}  {file.name}")
        total = sum(file.size for file in files)
        self.stdout.write(f"{total:>12,} bytes in {len(files)} files")
        if wish.what == "bundle":
            self.stdout.write(f"Licence of the answers: {wish.licence or 'not stated'}.")
            source = wish.study.source
            passing_on = source.get("redistribution") or "not stated"
            licence = source.get("licence") or "not stated"
            self.stdout.write(f"Items: licence {licence}, passing on {passing_on}.")
            self.stdout.write(
                "Contents: items, answers under exported names, judgments, majorities, annotators "
                "in groups of five or more. No platform ids, no free text of annotators, no "
                "withdrawn answers (docs/formats.md)."
            )

    def _end_dry_run(self, reasons: list[str]) -> None:
        self.stdout.write("Nothing was sent.")
        if reasons:
            self.stdout.write(
                "\n".join(["Before you can send it:", *(f"- {why}" for why in reasons)])
            )

    def _report(self, file: Leaving, was_there: bool) -> None:
        self.stdout.write(f"{'already there' if was_there else 'sent'}: {file.name}")
