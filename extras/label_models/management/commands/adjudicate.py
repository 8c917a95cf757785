"""adjudicate STUDY: send split items to experts, add experts, and show how far they are."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.urls import reverse

from studies.management.terminal import find_study, using

_NO_EXPERTS = (
    "The study has no experts. Add one with --expert NAME, then send them the split items with "
    "--send; --dry-run counts those first."
)


class Command(BaseCommand):
    help = (
        "Show how far the experts of a study are; with --expert and --send, add experts and send "
        "them the split items. Which items are split is chosen on the page Adjudication or in "
        "adjudication.toml. Decisions made elsewhere: import_annotations --adjudication."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument(
            "--expert",
            action="append",
            default=[],
            metavar="NAME",
            help="add an expert, who gets the link that is printed once; can be repeated",
        )
        parser.add_argument("--send", action="store_true", help="send the items that are split now")
        parser.add_argument(
            "--dry-run", action="store_true", help="only count what --send would send"
        )
        parser.add_argument("--close", action="store_true", help="no decision can change after")

    def handle(self, *args: Any, **options: Any) -> None:
        from extras.label_models.adjudicating import (
            add_expert,
            progress_of,
            send_items,
            set_closed,
        )
        from studies.errors import StudyError

        study = find_study(options["study"])
        try:
            if options["dry_run"]:
                sent = send_items(study_id=study.pk, dry_run=True)
                self.stdout.write(f"Nothing was sent. Without --dry-run: {sent}")
                return
            changes = options["expert"] or options["send"] or options["close"]
            lines = []
            # Links are shown once, so nobody is added if the rest fails.
            with using(study, "label_models" if changes else ""), transaction.atomic():
                for name in options["expert"]:
                    expert, key = add_expert(study_id=study.pk, name=name)
                    address = reverse("experts:start", args=[expert.public_id])
                    lines.append(f"{name}: {settings.PUBLIC_BASE_URL}{address}?key={key}")
                if options["send"]:
                    lines.append(str(send_items(study_id=study.pk)))
                if options["close"]:
                    set_closed(study_id=study.pk, is_closed=True)
                    lines.append("Closed. Experts can no longer change a decision.")
        except StudyError as error:
            raise CommandError(str(error)) from error
        lines += [
            f"{expert.name} ({expert.way}): {expert.decided:,} of {expert.items:,} decided"
            for expert in progress_of(study)
        ]
        self.stdout.write("\n".join(lines or [_NO_EXPERTS]))
