"""A study as arrays, read with a handful of queries.

Rows are sorted by their content (item key, rater, order shown, sample), never by the time when
they were stored, so the same data give the same report.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce, Length

from analysis.data.annotators.raters import (
    answers_of,
    attention_of,
    exclusions_of,
    identities_of,
    not_counted,
    people_by_state,
    promised_of,
    quotas_of,
)
from analysis.data.arrays import (
    Dataset,
    FrozenPlan,
    ItemData,
    StudyFacts,
)
from analysis.data.extras import READERS
from analysis.data.items.draws import DRAW
from analysis.data.judges.runs import juries_of, runs_of
from analysis.data.plans import begun_of, late_changes, read_plan, since_the_plan
from analysis.errors import AnalysisError
from studies.models import Item as ItemRow
from studies.models import Persona, Study
from studies.prompts.own_answers import wording_in
from studies.selectors import item_languages

_READERS = [
    DRAW,
]


def load_dataset(slug: str) -> Dataset:
    """All data that a report of the study `slug` uses. Raises `AnalysisError` if unknown."""
    try:
        study = Study.objects.get(slug=slug)
    except Study.DoesNotExist:
        raise AnalysisError(
            f"There is no study “{slug}”. The list of studies is on the page /studies/."
        ) from None
    # Keys are sorted here, not in SQL, because databases sort text by different rules.
    rows = sorted(
        ItemRow.objects.filter(study=study)
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
        # What people like themselves is neither right nor wrong.
        ItemData(key, topic, persona, question, "" if study.asks_own_answers else truth, (r1, r2))
        for key, topic, persona, question, truth, r1, r2, *_ in rows
    )
    position = {row[-1]: index for index, row in enumerate(rows)}
    raters, groups, answers = answers_of(study, position)
    aside_raters, _, aside = answers_of(study, position, are_excluded=True, after=len(raters))
    excluded = exclusions_of(study)
    plan = read_plan(study)
    departures, is_sealed = since_the_plan(study, plan, [item.key for item in items])
    runs, probes, left_out = runs_of(study, position, items)
    data = Dataset(
        study=_study_facts(study, plan),
        items=items,
        personas=_personas(study),
        raters=raters,
        rater_groups=groups,
        answers=answers,
        attention=attention_of(study, raters),
        people=people_by_state(study),
        promised=promised_of(study),
        not_counted=not_counted(study, excluded_people=len(excluded)),
        exclusions=excluded,
        identities=identities_of(study),
        quotas=quotas_of(study),
        runs=runs,
        runs_left_out=left_out,
        probes=probes,
        plan=plan,
        late_changes=late_changes(study, plan),
        departures=departures,
        begun=begun_of(study, plan),
        is_sealed=None if is_sealed is None else np.array(is_sealed, dtype=np.bool_),
        set_aside_raters=aside_raters,
        set_aside=aside if len(aside) else None,
        answers_are_sets=study.offers_either,
    )
    # Statistics are imported only for juries, because pages read plans and counts from here.
    from analysis.data.judges.juries import with_juries

    data = with_juries(data, juries_of(study))
    read = ((each.name, each.read(study, data, position)) for each in READERS.among(_READERS))
    return replace(data, extras={name: extra for name, extra in read if extra is not None})


def _length(response: str) -> Coalesce:
    """The letters of a response's text, counted by the database: the texts themselves are long."""
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
