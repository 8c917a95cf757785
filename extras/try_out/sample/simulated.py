"""The sample study: made in one transaction, reported on by a worker, removed by one press.

Each item has a difficulty. A simulated person or judge is right with a probability that is the
higher the easier the item is, and states a certainty that follows the difficulty too. Every draw is
a hash of names, so each sample has the same answers.
"""

import hashlib
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction

from analysis.lifecycle.requests import request_report
from analysis.models import Report
from annotation.files.imports import import_annotations
from annotation.models import Annotator
from judging.models import Judge
from judging.runs.imports import import_judgments
from studies.errors import StudyError
from studies.exporters.tables import CsvWriter
from studies.importers.files.bundle import File
from studies.importers.items.import_source import read_paths
from studies.importers.items.item_bundle import ImportOptions
from studies.importers.items.storage import import_items
from studies.models import Item, Membership, Study
from studies.services.studies import create_study, set_state
from studies.services.whole_studies import archive, delete_study

ITEMS = Path(__file__).parent / "items"
TITLE = "Everyday choices (sample)"
PEOPLE, ANSWERS_PER_ITEM = 20, 3
SEED = "2"  # of twelve that were tried, nine give a report whose verdict decides


@dataclass(frozen=True)
class SimulatedRater:
    """Right with probability `easy` on the easiest item, and `hard` on the hardest."""

    name: str
    easy: float
    hard: float


PERSON = SimulatedRater("person", 0.84, 0.52)
JUDGES = (
    SimulatedRater("Simulated judge: careful", 0.99, 0.93),
    SimulatedRater("Simulated judge: average", 0.85, 0.6),
    SimulatedRater("Simulated judge: guessing", 0.5, 0.5),
)


def sample_of(user: User) -> Study | None:
    """The sample that `user` has made and not removed."""
    return Study.objects.filter(slug=_slug(user), is_simulated=True).first()


def add_sample(user: User) -> Report:
    """The report of the user's sample, which is made first if there is none.

    Raises `StudyError` if the sample's short name is taken.
    """
    with transaction.atomic():
        study = sample_of(user) or _new_sample(user)
        return study.reports.first() or request_report(study_id=study.pk, user=user)


def remove_sample(user: User) -> None:
    """Delete the user's sample, and the simulated judges if no other sample has them.

    Raises `StudyError` if people have answered in it since, or if it cannot be deleted now.
    """
    with transaction.atomic():
        study = sample_of(user)
        if study is None:
            return
        if not Membership.objects.filter(
            study=study, user=user, role=Membership.Role.OWNER
        ).exists():
            raise StudyError("Only an owner of the sample can remove it.")
        if Annotator.objects.filter(study=study, is_imported=False).exists():
            raise StudyError(
                "People have taken part in the sample since it was made. To delete it with their "
                "answers, use “Copy, archive, delete” in its settings."
            )
        if study.archived_at is None:
            archive(study_id=study.pk, by=user)
        delete_study(study_id=study.pk, by=user)
        names = [judge.name for judge in JUDGES]
        Judge.objects.filter(name__in=names, runs=None).delete()


def _slug(user: User) -> str:
    return f"sample-{user.pk}"


def _new_sample(user: User) -> Study:
    study = create_study(
        slug=_slug(user),
        owner=user,
        is_simulated=True,
        title=TITLE,
        entry=Study.Entry.LINK,
        items_per_annotator=60 * ANSWERS_PER_ITEM // PEOPLE,
        annotations_per_item=ANSWERS_PER_ITEM,
        human_sample=0,  # the answers are there, so no seat waits for anybody
    )
    import_items(study.slug, read_paths([ITEMS], ImportOptions(study.task)), user=user)
    right = dict(
        Item.objects.filter(study=study).order_by("key").values_list("key", "first_person")
    )
    answers = _as_csv("rater_id,item_id,choice,certainty,active_ms,shown_first", _answers(right))
    import_annotations(study_id=study.pk, file=File("answers.csv", answers))
    for judge in JUDGES:
        judgments = _as_csv("item_id,choice,certainty,shown_first", _judgments(judge, right))
        file = File("judgments.csv", judgments)
        import_judgments(study_id=study.pk, file=file, judge_name=judge.name)
    return set_state(study_id=study.pk, state=Study.State.CLOSED, user=user)


def _answers(right: dict[str, str]) -> Iterator[tuple[object, ...]]:
    """Three answers to each item; nobody meets an item twice, and each person has nine."""
    order = sorted(right, key=lambda key: _uniform("order", key))
    for place, key in enumerate(order):
        # Growing distances mix the groups of three: 1 to 3 and 4 to 6 places apart.
        lap = place // PEOPLE
        for n in (place, place + 1 + lap, place + 4 + 2 * lap):
            name = f"simulated-{n % PEOPLE + 1:02}"
            choice, certainty = _answer(PERSON, name, key, right[key])
            active_ms = round(12_000 + 30_000 * _uniform("time", name, key))
            yield name, key, choice, certainty, active_ms, _first(name, key)


def _judgments(judge: SimulatedRater, right: dict[str, str]) -> Iterator[tuple[object, ...]]:
    for key, label in right.items():
        choice, certainty = _answer(judge, judge.name, key, label)
        yield key, choice, certainty, _first(judge.name, key)


def _answer(rater: SimulatedRater, name: str, key: str, label: str) -> tuple[str, int]:
    difficulty = _uniform("difficulty", key)
    chance = rater.easy + (rater.hard - rater.easy) * difficulty
    is_right = _uniform("right", name, key) < chance
    certainty = round(95 - 55 * difficulty + 20 * (_uniform("certainty", name, key) - 0.5))
    other = {"r1": "r2", "r2": "r1"}[label]
    return label if is_right else other, min(100, certainty)


def _first(name: str, key: str) -> str:
    return "r1" if _uniform("first", name, key) < 0.5 else "r2"


def _uniform(*names: str) -> float:
    """A number in [0, 1) that depends only on the seed and `names`."""
    return int(hashlib.sha256("\x1f".join((SEED, *names)).encode()).hexdigest()[:12], 16) / 16**12


def _as_csv(header: str, rows: Iterable[tuple[object, ...]]) -> bytes:
    text = io.StringIO(newline="")
    CsvWriter(text).rows([header.split(","), *rows])
    return text.getvalue().encode()
