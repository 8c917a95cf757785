"""arena STUDY: set up, open, pause and show a live arena."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from extras.arena.asking import run_arena, wake
from extras.arena.models import Arena
from extras.arena.questions import add_questions, read_questions, rows_of_study
from extras.arena.seats import arena_of
from extras.arena.setup import open_arena, pause_arena, set_up
from judging.errors import JudgingError
from judging.management.asking import dollars
from judging.management.errors import command_error
from judging.worker import runtime
from judging.worker.job_requests import judges_named
from studies.errors import StudyError
from studies.importers.files.bundle import File
from studies.importers.files.faults import Refused
from studies.management.terminal import add_how, find_study, using, wait_for
from studies.models import Study

_LIMITS = ("budget", "stock", "per_hour", "longest")
_CHANGES = (
    *_LIMITS,
    *("system", "questions", "questions_from", "forbidden", "show_persona"),
    *("open", "pause", "refill"),
)


class Command(BaseCommand):
    help = (
        "Set up a live arena, open or pause it, and show the ranking of its systems. Systems are "
        "judges that can write; an arena opens only with a budget."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument(
            "--system",
            action="append",
            metavar="NAME",
            help="a judge that writes responses; repeat it for all",
        )
        parser.add_argument("--budget", type=dollars, metavar="USD", help="for everything it asks")
        parser.add_argument(
            "--questions", metavar="FILE", help="CSV with the columns persona, question and topic"
        )
        parser.add_argument(
            "--questions-from", metavar="STUDY", help="personas and questions of a study’s items"
        )
        parser.add_argument("--stock", type=int, metavar="N", help="pairs written ahead")
        parser.add_argument("--per-hour", type=int, metavar="N", help="new pairs an hour at most")
        parser.add_argument("--longest", type=int, metavar="N", help="characters of a response")
        parser.add_argument(
            "--forbidden", metavar="FILE", help="phrases that no response may have, one a line"
        )
        parser.add_argument(
            "--show-persona", choices=("yes", "no"), help="whether systems see the persona"
        )
        state = parser.add_mutually_exclusive_group()
        state.add_argument("--open", action="store_true", help="open it, and the study")
        state.add_argument("--pause", action="store_true", help="pause it, and the study")
        state.add_argument("--refill", action="store_true", help="have missing pairs written now")
        parser.add_argument("--json", action="store_true", help="the ranking for programs")
        add_how(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        changes = any(options[name] not in (None, False) for name in _CHANGES)
        try:
            with using(study, "arena" if changes else ""):
                with transaction.atomic():  # an arena that cannot open is not set up either
                    arena, added = self._set_up(study, options)
                    if options["open"]:
                        arena = open_arena(arena=arena)
                    if options["pause"]:
                        arena = pause_arena(arena=arena)
                if added:
                    self.stderr.write(
                        f"{added:,} questions added; {arena.questions.count():,} in all."
                    )
                if options["refill"]:
                    arena = self._refill(arena, options)
        except Refused as error:
            raise CommandError(str(error)) from error
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        except (JudgingError, StudyError) as error:
            raise command_error(error) from error
        # Arrays, which the help of commands does not load.
        from extras.arena.ranking import live_ranking

        self._show(live_ranking(arena), options)

    def _set_up(self, study: Study, options: dict[str, Any]) -> tuple[Arena, int]:
        """The arena as the options want it, and how many questions are new."""
        limits = {name: options[name] for name in _LIMITS if options[name] is not None}
        if options["forbidden"]:
            limits["forbidden"] = _read(options["forbidden"]).decode("utf-8-sig", "replace")
        if options["show_persona"]:
            limits["show_persona"] = options["show_persona"] == "yes"
        systems = judges_named(options["system"]) if options["system"] else None
        arena = arena_of(study)
        if arena is None and not (systems or limits or options["questions"]):
            raise StudyError(
                f"“{study.slug}” has no arena. Set it up with --system, --budget and --questions."
            )
        if systems or limits or arena is None:
            arena = set_up(study_id=study.pk, systems=systems, **limits)
        rows: list[Any] = []
        if path := options["questions"]:
            rows += read_questions(File(Path(path).name, _read(path)))
        if slug := options["questions_from"]:
            rows += rows_of_study(find_study(slug))
        return arena, add_questions(arena=arena, rows=rows) if rows else 0

    def _refill(self, arena: Arena, options: dict[str, Any]) -> Arena:
        wake(arena)
        if options["inline"]:
            try:
                run_arena(arena_id=arena.pk)
            finally:
                runtime.shut_down()
        elif options["wait"]:
            wait_for(arena)
        arena.refresh_from_db()
        return arena

    def _show(self, ranking: dict[str, Any], options: dict[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps(ranking, ensure_ascii=False, indent=1))
            return
        budget = "no budget" if ranking["budget"] is None else f"${ranking['budget']:.2f}"
        pairs = ranking["pairs"]
        self.stdout.write(
            f"{'Open' if ranking['live'] else 'Not open'}. {pairs['stored']:,} pairs, "
            f"{pairs['open']:,} being written, {pairs['dropped']:,} dropped; "
            f"{ranking['answers']:,} answers; ${ranking['spent']:.4f} of {budget} spent."
        )
        if ranking["why_stopped"]:
            self.stdout.write(ranking["why_stopped"])
        for entry in ranking["ranking"]:
            strength, ci = entry["strength"], entry["strength_ci"]
            words = "no strength" if strength is None else f"strength {strength:.2f}"
            words += f" ({ci[0]:.2f} to {ci[1]:.2f})" if ci else " (no interval yet)"
            place = f"place {entry['best']}–{entry['worst']}" if entry["best"] else "no place yet"
            self.stdout.write(
                f"{entry['system']}: {place}, {words}, won {entry['rate'] * 100:.0f} % of "
                f"{entry['n']:,} answers"
            )
        for row in ranking["systems"]:
            if row["problem"]:
                self.stdout.write(f"{row['system']}: {row['problem']}")


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
