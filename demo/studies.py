"""The demo's studies in the database: created once, found again afterwards."""

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management import call_command

from annotation.content.comprehension import set_questions, standard_questions
from annotation.models import Annotator, ComprehensionAnswer
from annotation.seats.quotas import Quota, QuotaQuestion, set_quotas
from demo.annotators import EVERYONE_ELSE, QUOTA
from demo.bundle import write_bundles
from demo.truth import World, uniform
from studies.models import Item, Study
from studies.models.keys import random_id
from studies.services.studies import create_study, set_state

MAIN, TIES = "everyday-choices", "everyday-ties"
USER = "demo"

_QUESTIONS = (
    QuotaQuestion(
        "gender",
        "What is your gender?",
        {"woman": "Woman", "man": "Man", "non_binary": "Non-binary"},
    ),
    QuotaQuestion(
        "politics",
        "Which party are you closest to?",
        {"democrat": "Democrats", "republican": "Republicans", "independent": "Neither"},
    ),
)
_GROUPS = (
    *(Quota(places, criteria) for criteria, places in QUOTA),
    Quota(EVERYONE_ELSE),
)
_HERE = Path(__file__).parent
# One practice item, and two attention checks.
CHECK_ITEMS = _HERE / "check_items.jsonl"
_AI_POLICY = (
    "Please answer by yourself. An AI assistant would answer as a model does, and this study asks "
    "how people answer. At the end we ask whether you used one; saying so costs you nothing."
)
_DEBRIEF = (
    "This study is a demonstration. Its people, questions and replies are invented, and its "
    "thirty annotators and three judges are simulated."
)


class DemoError(Exception):
    """The demo cannot continue; the message says why and how to fix it."""


def researcher(login_file: Path) -> tuple[User, str]:
    """The demo's superuser, and a working password, which is stored in `login_file` (0600)."""
    user = User.objects.filter(username=USER).first()
    if user is not None and login_file.is_file():
        password = login_file.read_text("utf-8").split()[-1]
        if user.check_password(password):
            return user, password
    password = random_id(16)
    login_file.unlink(missing_ok=True)
    with os.fdopen(os.open(login_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"user {USER}\npassword {password}\n")
    if user is None:
        return User.objects.create_superuser(USER, password=password), password
    user.set_password(password)
    user.save(update_fields=["password"])
    return user, password


def set_up(world: World, *, folder: Path, owner: User) -> tuple[Study, Study]:
    """Create the main study and the study of true ties, with items and quotas, and open them."""
    items, ties = write_bundles(folder, world)
    main = _study(MAIN, world, owner, title="Everyday choices", minutes=15, reward=340)
    _import(main, items, world)
    set_quotas(study_id=main.pk, questions=_QUESTIONS, groups=_GROUPS)
    tie = _study(
        TIES,
        world,
        owner,
        title="Everyday choices: true ties",
        allow_tie=True,
        ask_certainty=False,
        items_per_annotator=12,
        minutes=6,
        reward=140,
    )
    _import(tie, ties, world)
    for study in (main, tie):
        add_checks(study, world)
    return _open(main), _open(tie)


def add_checks(study: Study, world: World) -> None:
    """Add comprehension questions, a practice item, and attention checks."""
    _import(study, CHECK_ITEMS, world)
    if not ComprehensionAnswer.objects.filter(question__study=study).exists():
        set_questions(study_id=study.pk, questions=standard_questions(study))


def mark_simulated(study: Study, world: World, names: Mapping[str, str]) -> None:
    """Mark simulated annotators, and give those without seats a seed derived from the world's.

    `names` are pseudonyms by platform id. The seed makes the seating, and the name makes the order
    of rows in a report, the same on every machine.
    """
    waiting = Annotator.objects.filter(study=study, assignments=None)
    for annotator in waiting.filter(prolific_identity__pid__in=names).select_related(
        "prolific_identity"
    ):
        annotator.pseudonym = names[annotator.prolific_identity.pid]
        annotator.seed = int(uniform(world.seed, "seats", study.slug, annotator.pseudonym) * 2**31)
        annotator.save(update_fields=["pseudonym", "seed"])


def _study(slug: str, world: World, owner: User, **fields: Any) -> Study:
    known = Study.objects.filter(slug=slug).first()
    if known is not None and not known.is_simulated:
        raise DemoError(
            f"There is a study “{slug}” here that is not the demo's. Run the demo in a folder of "
            "its own: VAR_DIR=var/demo-only make demo"
        )
    return known or create_study(
        slug=slug,
        owner=owner,
        is_simulated=True,
        seed=world.seed,
        persona_style=Study.PersonaStyle.FACTS,
        contact="demo@example.org",
        consent=(_HERE / "consent.md").read_text("utf-8"),
        ai_policy=_AI_POLICY,
        debrief=_DEBRIEF,
        **fields,
    )


def _import(study: Study, bundle: Path, world: World) -> None:
    call_command("import_items", study.slug, str(bundle), stdout=io.StringIO())
    if study.frozen_at is None:
        items = list(Item.everything.filter(study=study))
        for item in items:
            item.shuffle_key = int(uniform(world.seed, "shuffle", item.key) * 2**62)
        Item.everything.bulk_update(items, ["shuffle_key"], batch_size=100)


def _open(study: Study) -> Study:
    """Open a new study; one that a user has paused or closed is left alone."""
    if study.state == Study.State.DRAFT:
        return set_state(study_id=study.pk, state=Study.State.OPEN)
    return study
