"""link_study STUDY --new SLUG: a study in which others predict the answers, or the next wave."""

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from studies.errors import StudyError
from studies.management.terminal import explain, find_study, using
from studies.models import Study


class Command(BaseCommand):
    help = (
        "Create a draft in which others predict what people answered for themselves: one persona "
        "for each person who allows it, with their own answers as labels. With --wave, create the "
        "next wave, which asks the same people again; --invite puts everybody who completed the "
        "first wave on its list, or in a group on Prolific. Repeat it with --invite to add those "
        "who completed since."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        from extras.own_answers.linked_studies import DEFAULT_SEED

        parser.add_argument("study", help="short name of the study in which people answered")
        parser.add_argument(
            "--new",
            required=True,
            metavar="SLUG",
            help="short name of the new study, or of a wave to invite to",
        )
        parser.add_argument("--title", default="", help="title of the new study")
        parser.add_argument(
            "--persons", type=int, metavar="N", help="number of people to draw (default: all)"
        )
        parser.add_argument(
            "--items", type=int, metavar="N", help="number of items of each to draw (default: all)"
        )
        parser.add_argument(
            "--examples",
            type=int,
            metavar="K",
            help="how many of a person's other answers to show with each item (default: as many as "
            "people agreed to)",
        )
        parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="seed of the draws")
        parser.add_argument(
            "--wave",
            metavar="same|other|ID,ID",
            help="create the next wave with all items of STUDY (same), none (other), or those with "
            "these ids",
        )
        parser.add_argument("--invite", action="store_true", help="invite who completed")

    def handle(self, *args: Any, **options: Any) -> None:
        from annotation.prolific.api.transport import ProlificError

        study = find_study(options["study"])
        for name, least in (("persons", 1), ("items", 1), ("examples", 0)):
            if options[name] is not None and options[name] < least:
                raise CommandError(f"--{name}: Use a whole number of {least} or more.")
            if options[name] is not None and options["wave"]:
                raise CommandError(f"--{name} is not for --wave.", returncode=2)
        try:
            with using(study, "own_answers"):
                if options["wave"] or options["invite"]:
                    self._continue(study, options)
                else:
                    self._link(study, options)
        except ValidationError as error:
            raise CommandError(explain(error)) from error
        except (StudyError, ProlificError) as error:
            raise CommandError(str(error)) from error

    def _link(self, study: Study, options: dict[str, Any]) -> None:
        from extras.own_answers.linked_studies import LinkRule, link_study

        rule = LinkRule(
            persons=options["persons"],
            items_per_person=options["items"],
            examples=options["examples"],
            seed=options["seed"],
        )
        draft = link_study(
            first_id=study.pk, slug=options["new"], rule=rule, title=options["title"]
        )
        self.stdout.write(
            f"Created the draft “{draft.slug}” with {draft.linked_from.rule['items']:,} items "
            f"about {draft.personas.count():,} people."
        )

    def _continue(self, study: Study, options: dict[str, Any]) -> None:
        from annotation.prolific.api.transport import ProlificError
        from extras.own_answers.models import LaterWave
        from extras.own_answers.waves import invite_people, next_wave
        from extras.own_answers.waves_on_prolific import check_invitation, invite_on_prolific

        items = options["wave"] or "same"
        wave = LaterWave.objects.filter(study__slug=options["new"]).first()
        if wave is None:
            is_some = items not in ("same", "other")
            try:
                if options["invite"] and study.entry == Study.Entry.PROLIFIC:
                    check_invitation(study)
                draft = next_wave(
                    study_id=study.pk,
                    slug=options["new"],
                    title=options["title"],
                    items="some" if is_some else items,
                    keys=[key for key in items.split(",") if key] if is_some else (),
                )
            except (StudyError, ProlificError) as error:
                raise CommandError(f"{error} No draft was created.") from error
            wave = LaterWave.objects.get(study=draft)
            self.stdout.write(f"Created the draft “{draft.slug}”, wave {wave.number}.")
        elif not options["invite"]:
            raise CommandError(f"“{options['new']}” is wave {wave.number} already. Add --invite.")
        if options["invite"]:
            invite = (
                invite_on_prolific if wave.study.entry == Study.Entry.PROLIFIC else invite_people
            )
            invited = invite(wave_id=wave.pk)
            self.stdout.write(
                f"Invited: {invited.added:,}. Already invited: {invited.known:,}. Without an id: "
                f"{invited.unreachable:,}."
            )
