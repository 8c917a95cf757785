"""The items of a study with the verdicts of annotators and of one run, read in parts."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Max, Q, Sum

from analysis.data.annotators.answers import COUNTED
from analysis.data.items.aggregates import annotator_aggregates, run_aggregates
from annotation.models import Annotation, Annotator
from judging.models import JudgeRun, Judgment
from judging.selectors import labels_of
from studies.models import Item, Persona, Study

_CHUNK = 1_000
# Changes of items that exist, as the log names them.
_EDITS = ("item edited", "persona edited")
# At most so many answers, judgments and items are counted while a page waits.
SMALL = 2_000


@dataclass(frozen=True)
class ItemVerdicts:
    """An item with both verdicts, as rows of `aggregates`; None without any answer."""

    pk: int
    key: str
    topic: str
    sources: tuple[str, str]
    features: str
    people: Mapping[str, Any] | None
    judge: Mapping[str, Any] | None


@dataclass
class FilterChoices:
    """What the items can be filtered by, with the number of items of each."""

    topics: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    features: dict[str, Counter[str]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


def runs_to_compare(study: Study) -> list[JudgeRun]:
    """The runs that can be compared with annotators, those with the whole persona first.

    A run that was only probed and never started is not a judge of the study, nor is one that
    changes its prompts by a bias probe.
    """
    rows = study.judge_runs.filter(probe_first=False, bias_probe="")
    runs = list(rows.select_related("judge", "wording"))
    return sorted(runs, key=lambda run: (run.features != "all", run.judge.name, run.pk))


def labelled(runs: Sequence[JudgeRun]) -> list[tuple[JudgeRun, str]]:
    """Each run with its name for a list of choices."""
    labels = labels_of(runs)
    return [(run, labels[run.pk]) for run in runs]


def find_run(
    study: Study, public_id: str, runs: Sequence[JudgeRun] | None = None
) -> JudgeRun | None:
    """The run of an address, otherwise the first that can be compared; None if there is none."""
    runs = runs_to_compare(study) if runs is None else runs
    return next((run for run in runs if run.public_id == public_id), next(iter(runs), None))


def mark_of(key: str, value: str) -> str:
    """A short text for a persona feature, by which items can be found in any database."""
    return hashlib.blake2b(f"{key}\0{value}".encode(), digest_size=6).hexdigest()


def is_small(study: Study, run: JudgeRun | None) -> bool:
    """Whether a page can compare the items itself; counts no further than needed."""
    found = [Item.objects.filter(study=study), _answers(study)]
    if run is not None:
        found.append(Judgment.objects.filter(run=run))
    return all(rows.order_by()[: limit + 1].count() <= limit for rows, limit in _limits(found))


def _limits(found: list[Any]) -> Iterator[tuple[Any, int]]:
    return ((rows, SMALL if n == 0 else 4 * SMALL) for n, rows in enumerate(found))


def fingerprint_of(study: Study, runs: Iterable[JudgeRun]) -> str:
    """A hash that changes with everything that is compared: answers, exclusions, judgments."""
    counts: dict[str, Any] = Item.objects.filter(study=study).aggregate(
        items=Count("pk"), last=Max("pk")
    )
    counts |= _answers(study).aggregate(
        answers=Count("pk"),
        revisions=Sum("revision"),
        last_answer=Max("pk"),
        counted=Sum("pk", filter=Q(standing__in=COUNTED)),
    )
    counts |= (
        Annotator.objects.filter(study=study)
        .exclude(excluded_at=None)
        .aggregate(excluded=Sum("pk"), exclusions=Count("pk"))
    )
    edits = study.log.filter(event__in=_EDITS).aggregate(last_edit=Max("pk"))
    states = []
    for run in runs:
        judgments = Judgment.objects.filter(run=run).order_by("state").values_list("state")
        states += [run.pk, list(judgments.annotate(n=Count("pk"), last=Max("answered_at")))]
    rules = (study.certainty_threshold, study.allow_tie)
    return hashlib.sha256(repr((counts, edits, states, rules)).encode()).hexdigest()


def _answers(study: Study) -> Any:
    return Annotation.objects.filter(assignment__annotator__study=study)


def verdict_chunks(
    study: Study, run: JudgeRun | None, choices: FilterChoices
) -> Iterator[list[ItemVerdicts]]:
    """The items that count, by key, in lists of a thousand; adds up `choices` meanwhile.

    Each list is read completely before the next: on SQLite nothing can be written in between.
    """
    features: dict[int, tuple[str, list[tuple[str, str, str]]]] = {}
    after = ""
    while rows := _items(study, after):
        after = rows[-1][1]
        keys = [row[1] for row in rows]
        _read_features(features, {row[3] for row in rows})
        people = {row["item_id"]: row for row in annotator_aggregates(study, keys)}
        judged = {}
        if run is not None:
            judged = {row["item_id"]: row for row in run_aggregates(study, keys, run_id=run.pk)}
        found = []
        for pk, key, topic, persona, maker_1, maker_2 in rows:
            marks, own = features[persona]
            sources = (maker_1 or "", maker_2 or "")
            _count(choices, topic, sources, own)
            found.append(
                ItemVerdicts(pk, key, topic, sources, marks, people.get(key), judged.get(key))
            )
        yield found


def _items(study: Study, after: str) -> list[tuple[Any, ...]]:
    found = Item.objects.filter(study=study, key__gt=after).order_by("key")
    columns = ("pk", "key", "topic", "persona_id", "r1__generated_by__name")
    return list(found.values_list(*columns, "r2__generated_by__name")[:_CHUNK])


def _read_features(
    known: dict[int, tuple[str, list[tuple[str, str, str]]]], personas: set[int]
) -> None:
    new = personas - known.keys()
    for pk, features in Persona.objects.filter(pk__in=new).values_list("pk", "features"):
        own = [(f["key"], f.get("label") or f["key"], str(f["value"])) for f in features]
        known[pk] = (" ".join(mark_of(key, value) for key, _, value in own), own)


def _count(
    choices: FilterChoices, topic: str, sources: tuple[str, str], own: list[tuple[str, str, str]]
) -> None:
    choices.topics[topic] += 1
    choices.sources.update(set(sources))
    for key, label, value in own:
        choices.labels.setdefault(key, label)
        choices.features.setdefault(key, Counter())[value] += 1
