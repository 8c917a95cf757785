"""Read a study into arrays with a handful of queries.

Rows are sorted by content (item key, rater, order shown, sample), never by storage time, so the
same data give the same report.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
from django.db.models import QuerySet, Sum
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce, Length

from analysis.data.arrays import (
    Answers,
    Dataset,
    DesignData,
    Floats,
    FrozenPlan,
    ItemData,
    Judgments,
    LateExtra,
    Recruiting,
    RunData,
    StudyFacts,
)
from analysis.data.extras import READERS, ExtraReader
from analysis.data.frozen_plan import Departure, LateChange, PlanAndData, keeper
from analysis.data.juries import ProbedRun, with_juries
from analysis.data.raters import (
    answers_of,
    attention_of,
    exclusions_of,
    first_report_of,
    flagged_of,
    has_imported_answers_alone,
    identities_of,
    imported_of,
    left_out_of,
    not_counted,
    people_by_state,
    promised_of,
    quotas_of,
)
from analysis.data.runs import juries_of, runs_of
from analysis.data.views import AS_IT_IS, StudyThen, View
from analysis.errors import BadParameters, NoSuchStudy
from judging.prompts.asking import tasks_of_items
from studies.extra import extras_for_studies
from studies.models import Item, Persona, Study, StudyLog
from studies.prompts import wording_in
from studies.selectors import item_languages, language_of
from studies.services.extras import turned_on_at
from studies.services.settings import READ_OTHERWISE
from studies.services.translations import unreviewed_language
from studies.texts.normalisation import canonical

if TYPE_CHECKING:
    from analysis.stats.core.aggregation import TiePolicy


_CHUNK = 5_000  # rows in a query by their ids


@dataclass(frozen=True, eq=False)
class Draw(DesignData):
    """A sample of the items for annotators, with the probability that each item was drawn.

    NaN for items added after the draw; None if all were drawn equally, topic by topic.
    """

    probability: Floats | None

    @property
    def digest(self) -> str:
        probability = np.empty(0) if self.probability is None else self.probability
        return hashlib.sha256(probability.astype("<f8").tobytes()).hexdigest()


def draw_of(study: Study, data: Dataset, position: Mapping[int, int]) -> Draw | None:
    """The draw of a study's items, in their order; None if annotators get all of them."""
    if study.human_sample is None:
        return None
    if not study.draw:
        return Draw(None)
    probability = np.full(len(position), np.nan)
    rows = Item.objects.filter(study=study).exclude(draw_probability=None)
    for pk, share in rows.values_list("pk", "draw_probability"):
        if pk in position:
            probability[position[pk]] = share
    return Draw(probability)


DRAW = ExtraReader("draw", draw_of)


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
            "language",
            "pk",
        )
    )
    own = study.asks_own_answers
    items = tuple(
        # People who answer for themselves see no persona, and are neither right nor wrong.
        ItemData(key, topic, "" if own else persona, question, "" if own else truth, (r1, r2))
        for key, topic, persona, question, truth, r1, r2, *_ in rows
    )
    position = {row[-1]: index for index, row in enumerate(rows)}
    keys = {row[0] for row in rows}
    languages = {key: language_of(study, language) for key, *_, language, _ in rows}
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
    plans, at = keeper(), then.at if then else None
    planned = plans.read(study, [item.key for item in items], at=at) if plans else PlanAndData()
    runs, probes, left_out = runs_of(study, position, items, then=then)
    people = people_by_state(study, then)
    unread = unreviewed_language(study)
    asked_in = {run.parameters.get("prompt_language") for run in runs}
    data = Dataset(
        study=_study_facts(study, planned.plan),
        items=items,
        personas={} if own else _personas(study),
        raters=raters,
        rater_groups=groups,
        answers=answers,
        repeats=_repeats(rows),
        languages=languages if len(set(languages.values())) > 1 else {},
        attention=attention_of(study, raters, then),
        flagged=flagged_of(study, raters, then),
        people=people,
        imported=imported_of(study),
        recruiting=_recruiting(study) if view.is_empty else None,
        promised=promised_of(study, then),
        not_counted=not_counted(study, excluded_people=len(excluded), then=then),
        exclusions=excluded,
        left_out=tuple(item for item in left_out_of(study, then) if item.item not in keys),
        identities=identities_of(study),
        quotas=quotas_of(study) if then is None else (),
        runs=runs,
        runs_left_out=left_out,
        probes=probes,
        plan=planned.plan,
        late_changes=_late_changes(study, planned.plan, until=at),
        late_extras=_late_extras(study),
        departures=planned.departures,
        begun=planned.begun,
        is_sealed=None
        if planned.is_sealed is None
        else np.array(planned.is_sealed, dtype=np.bool_),
        set_aside_raters=aside_raters,
        set_aside=aside if aside is not None and len(aside) else None,
        answers_are_sets=study.offers_either,
        unreviewed=unread if people or unread in asked_in else "",
    )
    if not view.is_empty:
        data = narrowed(data, view)
        kept = {item.key for item in data.items}
        position = {
            row[-1]: index for index, row in enumerate(row for row in rows if row[0] in kept)
        }
    data = with_juries(data, juries_of(study))
    readers = READERS.of(study) if view.is_empty else [DRAW]
    read = ((reader.name, reader.read(study, data, position)) for reader in readers)
    return replace(data, extras={name: extra for name, extra in read if extra is not None})


def _late_extras(study: Study) -> tuple[LateExtra, ...]:
    """The extras that are on, were turned on after the first answer, and change what is found."""
    if (begun := study.frozen_at) is None:
        return ()
    late = {name: moment for name, moment in turned_on_at(study).items() if moment > begun}
    if not late:
        return ()
    first = first_report_of(study)
    extras = extras_for_studies()
    return tuple(
        LateExtra(
            name,
            extras[name].title,
            f"{moment:%Y-%m-%d}",
            after_report=first is not None and first < moment,
        )
        for name, moment in sorted(late.items())
        # Tools for recruiting and files leave the results as they are.
        if name in extras and extras[name].changes_results
    )


def _late_changes(
    study: Study, plan: FrozenPlan | None, *, until: datetime | None = None
) -> tuple[LateChange, ...]:
    """Changes to threshold and margin after the first answer, all or those until a moment.

    A plan overrides later settings. A plan made after the first answer is itself such a change if
    it differs from the settings.
    """
    if plan is not None and plan.is_before_data:
        return ()
    names = {"certainty_threshold": "threshold", "equivalence_margin": "margin"}
    rows = StudyLog.objects.filter(study=study, event=READ_OTHERWISE).order_by("created_at", "pk")
    if until is not None:
        rows = rows.filter(created_at__lte=until)
    read_by = {field: getattr(study, field) for field in names}
    changes = []
    for row in reversed(rows):
        if plan is not None and row.created_at > datetime.fromisoformat(plan.frozen_at):
            read_by[row.detail["field"]] = row.detail["before"]
        else:
            setting, day = names[row.detail["field"]], f"{row.created_at:%Y-%m-%d}"
            changes.append(LateChange(setting, row.detail["before"], row.detail["after"], day))
    changes.reverse()
    if plan is not None:
        changes += [
            LateChange(name, read_by[field], plan.content[name], plan.frozen_at[:10])
            for field, name in names.items()
            if plan.content[name] != read_by[field]
        ]
    return tuple(changes)


def _items_of(study: Study, view: View, then: StudyThen | None) -> QuerySet[Item]:
    if not view.with_left_out:
        return Item.objects.filter(study=study) if then is None else then.items()
    every = Item.everything.filter(study=study, split__in=(Item.Split.MAIN, Item.Split.LEFT_OUT))
    return every if then is None else every.filter(created_at__lte=then.at)


def _repeats(rows: Sequence[Sequence[Any]]) -> dict[str, str]:
    """Items with the content of an earlier one, and its key.

    Texts are long, so only those of items with the same persona, question and lengths are read.
    """
    alike: dict[tuple[Any, ...], list[tuple[int, str]]] = {}
    for key, _, persona, question, _, r1, r2, _, pk in rows:
        alike.setdefault((persona, question, min(r1, r2), max(r1, r2)), []).append((pk, key))
    keys = {pk: key for same in alike.values() if len(same) > 1 for pk, key in same}
    content: dict[str, str] = {}
    pks, names = list(keys), ("persona_id", "question", "context", "media", "advice", "option_set")
    for start in range(0, len(pks), _CHUNK):
        chunk = Item.everything.filter(pk__in=pks[start : start + _CHUNK])
        for pk, one, other, *others in chunk.values_list("pk", "r1", "r2", *names):
            sides = sorted(
                canonical([side.get("text"), side.get("media")]) for side in (one, other)
            )
            content[keys[pk]] = canonical([*others, *sides])
    earliest: dict[str, str] = {}
    firsts = {key: earliest.setdefault(text, key) for key, text in sorted(content.items())}
    return {key: earlier for key, earlier in firsts.items() if key != earlier}


def _recruiting(study: Study) -> Recruiting | None:
    """None for a study that is not recruiting, or of which no answer is wanted.

    One with imported answers alone recruits nobody, though its state is “open”.
    """
    if study.state not in (Study.State.OPEN, Study.State.PAUSED):
        return None
    if has_imported_answers_alone(study):
        return None
    wanted = Item.objects.filter(study=study).aggregate(n=Sum("seats_needed"))["n"]
    return Recruiting(study.state, wanted) if wanted else None


def _length(response: str) -> Coalesce:
    """The length of a response's text, counted by the database because texts are long."""
    return Coalesce(Length(KeyTextTransform("text", response)), 0)


def _study_facts(study: Study, plan: FrozenPlan | None) -> StudyFacts:
    fixed = plan.content if plan else {}
    # Imported items have a task of their own, which need not be that of the study.
    tasks = tasks_of_items(study)
    task = tasks[0] if len(tasks) == 1 else study.task
    return StudyFacts(
        slug=study.slug,
        title=study.title,
        task=task,
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
        question=wording_in(study, task, "tie" if study.allow_tie else "certainty").question
        if len(tasks) == 1
        else "",
        item_languages=tuple(item_languages(study)),
        extras=tuple(sorted(study.extras)),
    )


def _personas(study: Study) -> Mapping[str, tuple[tuple[str, str], ...]]:
    rows = Persona.objects.filter(study=study).values_list("key", "features")
    return {
        key: tuple((feature["label"], str(feature["value"])) for feature in features)
        for key, features in sorted(rows, key=lambda row: row[0])
    }


Mask = npt.NDArray[np.bool_]


def narrowed(data: Dataset, view: View) -> Dataset:
    """The data that a view keeps. Raises `BadParameters` if it names what the study lacks."""
    _refuse_unknown("annotator", view.without_people, {*data.raters, *data.set_aside_raters})
    _refuse_unknown("item", view.without_items, {item.key for item in data.items})
    _refuse_unknown("run", view.without_runs, {run.run for run in data.runs})
    items = _kept_items(data, view)
    people = _kept_people(data, view)
    answers = _cut(data.answers, items, people[data.answers.rater])
    # Who has no answer left is not in the data, as in every report.
    people = np.isin(np.arange(len(data.raters)), answers.rater)
    aside, names = data.set_aside, list(data.set_aside_raters)
    if aside is not None:
        own = aside.rater - len(data.raters)
        kept = np.array([name not in view.without_people for name in names])
        aside = _cut(aside, items, kept[own])
        used = np.unique(aside.rater)
        names = [names[n - len(data.raters)] for n in used.tolist()]
        aside = replace(aside, rater=people.sum() + np.searchsorted(used, aside.rater))
    runs = tuple(_cut_run(run, items) for run in data.runs if run.run not in view.without_runs)
    changes = view.changes({run.run: f"{run.judge} ({run.setting})" for run in data.runs})
    return replace(
        data,
        is_part=not items.all() or not people.all(),
        items=tuple(item for item, kept in zip(data.items, items, strict=True) if kept),
        raters=_chosen(data.raters, people),
        rater_groups=_chosen(data.rater_groups, people),
        attention=_chosen(data.attention, people),
        flagged=_chosen(data.flagged, people),
        answers=replace(answers, rater=(np.cumsum(people) - 1)[answers.rater]),
        set_aside_raters=tuple(names),
        set_aside=aside if aside is not None and len(aside) else None,
        runs=runs,
        probes=tuple(_cut_probe(probe, items) for probe in data.probes),
        departures=(
            *data.departures,
            Departure("another view", "the whole data, read as planned", "; ".join(changes)),
        ),
        is_sealed=None,
        ties=cast("TiePolicy", view.ties),
    )


def _refuse_unknown(what: str, named: Sequence[str], known: set[str]) -> None:
    if unknown := [name for name in named if name not in known]:
        raise BadParameters(f"The report has no {what} “{unknown[0]}”. Take it from report.json.")


def _kept_items(data: Dataset, view: View) -> Mask:
    def is_kept(item: Any) -> bool:
        features = dict(data.personas.get(item.persona, ()))
        return (
            item.key not in view.without_items
            and (not view.topics or item.topic in view.topics)
            and all(features.get(key) == value for key, value in view.personas.items())
        )

    kept = np.array([is_kept(item) for item in data.items], dtype=np.bool_)
    if not kept.any():
        raise BadParameters("The view leaves no item. Check its topics and features.")
    return kept


def _kept_people(data: Dataset, view: View) -> Mask:
    kept = [
        name not in view.without_people
        and all(groups.get(key) == value for key, value in view.people.items())
        for name, groups in zip(data.raters, data.rater_groups, strict=True)
    ]
    if view.people and not any(kept):
        raise BadParameters("The view leaves no annotator. Check the answers about themselves.")
    return np.array(kept, dtype=np.bool_)


def _chosen(values: tuple[Any, ...], kept: Mask) -> tuple[Any, ...]:
    """The values of those who are kept; empty where nothing is known of anybody."""
    return tuple(value for value, stays in zip(values, kept, strict=False) if stays)


def _cut(rows: Answers, items: Mask, stays: Mask) -> Answers:
    """The answers to kept items that stay, with the positions of the items in the cut data."""
    chosen = items[rows.item] & stays
    columns = {name: column[chosen] for name, column in vars(rows).items()}
    return Answers(**{**columns, "item": (np.cumsum(items) - 1)[columns["item"]]})


def _cut_judgments(rows: Judgments, items: Mask) -> Judgments:
    chosen = items[rows.item]
    columns = {name: column[chosen] for name, column in vars(rows).items()}
    return Judgments(**{**columns, "item": (np.cumsum(items) - 1)[columns["item"]]})


def _cut_run(run: RunData, items: Mask) -> RunData:
    strictly = None if run.strictly is None else _cut_judgments(run.strictly, items)
    return replace(run, judgments=_cut_judgments(run.judgments, items), strictly=strictly)


def _cut_probe(probe: ProbedRun, items: Mask) -> ProbedRun:
    own = None if probe.own is None else replace(probe.own, side=probe.own.side[items])
    target = probe.target[items[probe.run.judgments.item]]
    return replace(probe, run=_cut_run(probe.run, items), target=target, own=own)
