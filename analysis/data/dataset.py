"""Read a study into arrays with a handful of queries.

Rows are sorted by content (item key, rater, order shown, sample), never by storage time, so the
same data give the same report.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from django.db.models import QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce, Length

from analysis.data.arrays import (
    CODE,
    TIE,
    Dataset,
    Extra,
    Floats,
    FrozenPlan,
    ItemData,
    StudyFacts,
)
from analysis.data.extras import READERS, ExtraReader
from analysis.data.frozen_plan import Departure
from analysis.data.left_out import exclusions_of, left_out_of
from analysis.data.moments import StudyThen
from analysis.data.plans import begun_of, late_changes, read_plan, since_the_plan
from analysis.data.raters import (
    answers_of,
    attention_of,
    flagged_of,
    identities_of,
    not_counted,
    people_by_state,
    promised_of,
    quotas_of,
)
from analysis.data.runs import juries_of, runs_of
from analysis.data.views import AS_IT_IS, View
from analysis.errors import NoSuchStudy
from judging.models import Judgment
from studies.models import Item, Persona, Study
from studies.prompts import wording_in
from studies.selectors import item_languages


@dataclass(frozen=True, eq=False)
class Draw(Extra):
    """A sample of the items for annotators.

    Attributes
    ----------
    probability : ndarray of float, shape (items,), or None
        Probability that each item was drawn, NaN for items added after the draw; None if all were
        drawn equally, topic by topic.
    """

    probability: Floats | None

    @property
    def digest(self) -> str:
        """A digest of the contents."""
        given = np.empty(0) if self.probability is None else self.probability
        return hashlib.sha256(given.astype("<f8").tobytes()).hexdigest()


def draw_of(study: Study, data: Dataset, position: Mapping[int, int]) -> Draw | None:
    """The draw of a study's items, in their order; None if annotators get all of them."""
    if study.human_sample is None:
        return None
    if not study.draw:
        return Draw(None)
    probability = np.full(len(position), np.nan)
    rows = Item.objects.filter(study=study).exclude(draw_probability=None)
    for pk, each in rows.values_list("pk", "draw_probability"):
        if pk in position:
            probability[position[pk]] = each
    return Draw(probability)


DRAW = ExtraReader("draw", draw_of)


@dataclass(frozen=True, eq=False)
class JudgedItems:
    """A run's certainty of every item of a study.

    Attributes
    ----------
    keys : list of str
        Keys of all items, sorted.
    certainty : ndarray of float, shape (items,)
        Mean over the readings that gave its answer, in percent; NaN without one.
    correct : ndarray of int, shape (items,)
        By own answer: 1 right, 0 wrong, -1 unknown.
    """

    keys: list[str]
    certainty: Floats
    correct: np.ndarray[tuple[int], np.dtype[np.int64]]


def judged_items(study: Study, run_key: str) -> JudgedItems:
    """Read the certainty of one run and nothing else."""
    truths = dict(Item.objects.filter(study=study).values_list("key", "first_person"))
    readings: dict[str, list[tuple[str, int | None]]] = defaultdict(list)
    found = Judgment.objects.filter(
        run__study=study, run__key=run_key, item__split=Item.Split.MAIN, state=Judgment.State.DONE
    )
    for key, choice, certainty in found.values_list("item__key", "choice", "certainty"):
        readings[key].append((choice, certainty))
    keys = sorted(truths)
    stated, correct = np.full(len(keys), np.nan), np.full(len(keys), -1)
    for place, key in enumerate(keys):
        counts = Counter(choice for choice, _ in readings[key]).most_common(2)
        if not counts or (len(counts) == 2 and counts[0][1] == counts[1][1]):
            continue
        answer = counts[0][0]
        given = [each for choice, each in readings[key] if choice == answer and each is not None]
        if given:
            stated[place] = sum(given) / len(given)
        if CODE[truths[key]] in (0, 1) and CODE[answer] != TIE:
            correct[place] = int(answer == truths[key])
    return JudgedItems(keys, stated, correct)


_READERS = [
    DRAW,
]


def load_dataset(slug: str, view: View = AS_IT_IS) -> Dataset:
    """All data that a report of the study `slug` uses, with the changes of a view.

    Raises `NoSuchStudy`, and `BadParameters` if the view does not fit.
    """
    try:
        study = Study.objects.get(slug=slug)
    except Study.DoesNotExist:
        raise NoSuchStudy(
            f"There is no study “{slug}”. The list of studies is on the page /studies/."
        ) from None
    # Sorted here, not in SQL, because databases sort text by different rules.
    then = StudyThen(study, view.moment) if view.as_of else None
    for name, value in then.settings().items() if then else ():
        setattr(study, name, value)
    rows = sorted(
        _items_of(study, view, then)
        .order_by()
        .values_list(
            "key",
            "topic",
            "persona__key",
            "question",
            "first_person",
            _length("r1"),
            _length("r2"),
            "pk",
        )
    )
    items = tuple(
        # People's own preferences are neither right nor wrong.
        ItemData(key, topic, persona, question, "" if study.asks_own_answers else truth, (r1, r2))
        for key, topic, persona, question, truth, r1, r2, *_ in rows
    )
    position = {row[-1]: index for index, row in enumerate(rows)}
    keys = {row[0] for row in rows}
    raters, groups, answers = answers_of(
        study, position, are_excluded=None if view.with_excluded else False, then=then
    )
    aside_raters: tuple[str, ...] = ()
    aside = None
    if not view.with_excluded:
        aside_raters, _, aside = answers_of(
            study, position, are_excluded=True, after=len(raters), then=then
        )
    excluded = () if view.with_excluded else exclusions_of(study, then)
    plan = read_plan(study)
    if then and plan and datetime.fromisoformat(plan.frozen_at) > then.at:
        plan = None
    departures: tuple[Departure, ...] = ()
    is_sealed = None
    if then is None:
        departures, is_sealed = since_the_plan(study, plan, [item.key for item in items])
    runs, probes, left_out = runs_of(study, position, items, then=then)
    data = Dataset(
        study=_study_facts(study, plan),
        items=items,
        personas=_personas(study),
        raters=raters,
        rater_groups=groups,
        answers=answers,
        attention=attention_of(study, raters, then),
        flagged=flagged_of(study, raters, then),
        people=people_by_state(study, then),
        promised=promised_of(study, then),
        not_counted=not_counted(study, excluded_people=len(excluded), then=then),
        exclusions=excluded,
        left_out=tuple(each for each in left_out_of(study, then) if each.item not in keys),
        identities=identities_of(study),
        quotas=quotas_of(study) if then is None else (),
        runs=runs,
        runs_left_out=left_out,
        probes=probes,
        plan=plan,
        late_changes=late_changes(study, plan, until=then.at if then else None),
        departures=departures,
        begun=begun_of(study, plan),
        is_sealed=None if is_sealed is None else np.array(is_sealed, dtype=np.bool_),
        set_aside_raters=aside_raters,
        set_aside=aside if aside is not None and len(aside) else None,
        answers_are_sets=study.offers_either,
    )
    # Imported only for juries: pages import this module and must not load statistics.
    from analysis.data.juries import with_juries
    from analysis.data.narrowing import narrowed

    if not view.is_empty:
        data = narrowed(data, view)
        kept = {item.key for item in data.items}
        position = {
            row[-1]: index for index, row in enumerate(row for row in rows if row[0] in kept)
        }
    data = with_juries(data, juries_of(study))
    readers = READERS.among(_READERS) if view.is_empty else _READERS
    read = ((each.name, each.read(study, data, position)) for each in readers)
    return replace(data, extras={name: extra for name, extra in read if extra is not None})


def _items_of(study: Study, view: View, then: StudyThen | None) -> QuerySet[Item]:
    if not view.with_left_out:
        return Item.objects.filter(study=study) if then is None else then.items()
    every = Item.everything.filter(study=study, split__in=(Item.Split.MAIN, Item.Split.LEFT_OUT))
    return every if then is None else every.filter(created_at__lte=then.at)


def _length(response: str) -> Coalesce:
    """The length of a response's text, counted by the database because texts are long."""
    return Coalesce(Length(KeyTextTransform("text", response)), 0)


def _study_facts(study: Study, plan: FrozenPlan | None) -> StudyFacts:
    fixed = plan.content if plan else {}
    return StudyFacts(
        slug=study.slug,
        title=study.title,
        task=study.task,
        language=study.language,
        is_simulated=study.is_simulated,
        allow_tie=study.allow_tie,
        ask_certainty=study.ask_certainty,
        certainty_threshold=fixed.get("threshold", study.certainty_threshold),
        equivalence_margin=fixed.get("margin", study.equivalence_margin),
        annotations_per_item=study.annotations_per_item,
        items_per_annotator=study.items_per_annotator,
        persona_style=study.persona_style,
        show_history=study.show_history,
        minutes=study.minutes,
        reward=study.reward,
        currency=study.currency,
        source=study.source,
        asks_own_answers=study.asks_own_answers,
        question=wording_in(study, study.task, "tie" if study.allow_tie else "certainty").question,
        item_languages=tuple(item_languages(study)),
    )


def _personas(study: Study) -> Mapping[str, tuple[tuple[str, str], ...]]:
    rows = Persona.objects.filter(study=study).values_list("key", "features")
    return {
        key: tuple((feature["label"], str(feature["value"])) for feature in features)
        for key, features in sorted(rows, key=lambda row: row[0])
    }
