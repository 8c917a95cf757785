"""The only reader of the other apps: a study's rows become the plain arrays of `facts`.

A handful of queries, however large the study is; rows are sorted by what they say (item key,
rater, order shown, sample), never by when they were stored.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import numpy as np
from django.db.models import Count, Max, Min, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce

from analysis.data.answers import COUNTED
from analysis.data.arrays import (
    CHOICES,
    CODE,
    MISSING,
    Answers,
    Codes,
    Cost,
    Dataset,
    Item,
    Judgments,
    LateChange,
    Plan,
    Prompt,
    Run,
    StudyFacts,
    columns,
    without_own_port,
)
from analysis.errors import AnalysisError
from analysis.models import AnalysisPlan
from annotation.models import Annotation, Annotator, QuotaCell
from annotation.quality.flags import quality_of
from judging.models import NANO, Attempt, JudgeRun, Judgment, Jury
from judging.runs.request_conditions import conditions_of
from judging.worker.prompts import words_of
from studies.models import Item as ItemRow
from studies.models import Persona, Study, StudyLog
from studies.prompts import wording
from studies.services.settings import READ_OTHERWISE


def load_dataset(slug: str) -> Dataset:
    """Everything that a report of the study `slug` rests on. Raises `AnalysisError` if unknown."""
    try:
        study = Study.objects.get(slug=slug)
    except Study.DoesNotExist:
        raise AnalysisError(
            f"There is no study “{slug}”. The list of studies is on the page /studies/."
        ) from None
    # Keys are sorted here and not in SQL: databases sort text by different rules.
    rows = sorted(
        ItemRow.objects.filter(study=study).values_list(
            "key", "topic", "persona__key", "question", "first_person", "r1__text", "r2__text", "pk"
        )
    )
    items = tuple(
        Item(key, topic, persona, question, truth, (len(r1 or ""), len(r2 or "")))
        for key, topic, persona, question, truth, r1, r2, _ in rows
    )
    position = {row[-1]: index for index, row in enumerate(rows)}
    raters, groups, answers = _answers(study, position)
    aside_raters, _, aside = _answers(study, position, are_excluded=True, after=len(raters))
    plan = read_plan(study)
    data = Dataset(
        study=_study_facts(study, plan),
        items=items,
        personas=_personas(study),
        raters=raters,
        rater_groups=groups,
        answers=answers,
        attention=_attention(study, raters),
        people=_people(study),
        not_counted=_not_counted(study),
        quotas=_quotas(study),
        runs=_runs(study, position),
        plan=plan,
        late_changes=_late_changes(study, plan),
        set_aside_raters=aside_raters,
        set_aside=aside if len(aside) else None,
    )
    # Pages read plans and counts from here: statistics are imported where juries vote.
    from analysis.data.juries import with_juries

    return with_juries(data, _juries(study))


@dataclass(frozen=True, eq=False)
class Everybody:
    """All answers to the items of a dataset, also those that no report counts.

    Attributes
    ----------
    raters : tuple of str
        Pseudonyms, sorted.
    is_counted : tuple of bool
        False for those whom a researcher left out of the analysis.
    pace : tuple of float or None
        Words read a minute.
    choice : ndarray of int8, shape (items, raters)
        Choices; -1 is missing.
    """

    raters: tuple[str, ...]
    is_counted: tuple[bool, ...]
    pace: tuple[float | None, ...]
    choice: Codes


def load_everybody(data: Dataset) -> Everybody:
    """Who answered what in the study of `data`; withdrawn answers are not looked at."""
    study = Study.objects.get(slug=data.study.slug)
    quality = quality_of(study)
    people = sorted(
        Annotator.objects.filter(pk__in=quality).values_list("pseudonym", "pk", "excluded_at")
    )
    column = {pk: index for index, (_, pk, _) in enumerate(people)}
    row = {item.key: index for index, item in enumerate(data.items)}
    choices = np.full((len(data.items), len(people)), MISSING, dtype=np.int8)
    found = (
        Annotation.objects.filter(
            assignment__annotator__study=study, assignment__item__split=ItemRow.Split.MAIN
        )
        .exclude(standing=Annotation.Standing.WITHDRAWN)
        .values_list("assignment__item__key", "assignment__annotator", "choice")
    )
    for item, annotator, choice in found:
        choices[row[item], column[annotator]] = CODE[choice]
    return Everybody(
        raters=tuple(pseudonym for pseudonym, _, _ in people),
        is_counted=tuple(excluded is None for *_, excluded in people),
        pace=tuple(quality[pk].words_per_minute for _, pk, _ in people),
        choice=choices,
    )


def asked_on(slug: str) -> dict[str, str]:
    """The days on which each run of a study asked its model, by the run's key.

    Days are no part of a data set: the same replies give the same report.json whenever they came.
    """
    runs = JudgeRun.objects.filter(study__slug=slug, judgments__attempts__isnull=False)
    days = runs.values_list("key").annotate(
        first=Min("judgments__attempts__sent_at"), last=Max("judgments__attempts__sent_at")
    )
    return {
        key: " to ".join(dict.fromkeys(f"{when:%Y-%m-%d}" for when in (first, last)))
        for key, first, last in days.order_by("key")
    }


def _juries(study: Study) -> Mapping[str, list[str]]:
    members: dict[str, list[str]] = {}
    for jury, judge in Jury.objects.filter(study=study).values_list("name", "judges__name"):
        members.setdefault(jury, []).append(judge)
    return members


def read_plan(study: Study) -> Plan | None:
    """The plan that was frozen for the study. Raises `AnalysisError` if it was tampered with."""
    row = AnalysisPlan.objects.filter(study=study).first()
    if row is None:
        return None
    plan = Plan(row.content, row.answers, row.judgments, row.frozen_at.isoformat(), row.seal)
    if plan.sealed() != plan.seal:
        raise AnalysisError(
            f"The analysis plan of “{study.slug}” is not the one that was frozen: its hash is "
            f"{plan.sealed()[:12]}… and its seal says {plan.seal[:12]}…. It was changed in the "
            "database; restore the row from a backup."
        )
    return plan


def _late_changes(study: Study, plan: Plan | None) -> tuple[LateChange, ...]:
    """How the reading of answers was changed after the first of them.

    A plan stands above settings that are changed after it; one that came after the first answer
    is itself such a change, where it says otherwise than the settings did.
    """
    if plan is not None and plan.is_before_data:
        return ()
    names = {"certainty_threshold": "threshold", "equivalence_margin": "margin"}
    rows = StudyLog.objects.filter(study=study, event=READ_OTHERWISE).order_by("created_at", "pk")
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


def data_so_far(study: Study) -> tuple[int, int]:
    """How many answers of people and how many judgments the study has, whatever they count."""
    answers = Annotation.objects.filter(
        assignment__annotator__study=study, assignment__item__split=ItemRow.Split.MAIN
    ).count()
    judged = Judgment.objects.filter(run__study=study).exclude(state__in=Judgment.OPEN)
    return answers, judged.count()


def withdrawn_answers() -> Coalesce:
    """How many answers of people who withdrew the study of a row has now, for `annotate`."""
    of_study = Annotation.objects.filter(
        assignment__annotator__study=OuterRef("study"),
        assignment__item__split=ItemRow.Split.MAIN,
        standing=Annotation.Standing.WITHDRAWN,
    )
    counted = of_study.order_by().values("assignment__annotator__study").annotate(n=Count("pk"))
    return Coalesce(Subquery(counted.values("n")), 0)


def people_now(slug: str) -> tuple[dict[str, int], set[str]]:
    """Withdrawn answers by pseudonym, and the pseudonyms of people who are excluded."""
    people = Annotator.objects.filter(study__slug=slug)
    withdrawn = (
        Annotation.objects.filter(
            assignment__annotator__study__slug=slug, standing=Annotation.Standing.WITHDRAWN
        )
        .values_list("assignment__annotator__pseudonym")
        .annotate(n=Count("pk"))
        .order_by("assignment__annotator__pseudonym")
    )
    excluded = people.exclude(excluded_at=None).values_list("pseudonym", flat=True)
    return dict(withdrawn), set(excluded)


def _study_facts(study: Study, plan: Plan | None) -> StudyFacts:
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
        question=wording(study.task, "tie" if study.allow_tie else "certainty").question,
    )


def _personas(study: Study) -> Mapping[str, tuple[tuple[str, str], ...]]:
    rows = Persona.objects.filter(study=study).values_list("key", "features")
    return {
        key: tuple((feature["label"], str(feature["value"])) for feature in features)
        for key, features in sorted(rows, key=lambda row: row[0])
    }


def _answers(
    study: Study, position: Mapping[int, int], *, are_excluded: bool = False, after: int = 0
) -> tuple[tuple[str, ...], tuple[Mapping[str, str], ...], Answers]:
    """Raters, what is known of them, and their answers that hold a seat.

    Of people who are excluded, or of all others; raters are numbered from `after` on.
    """
    people = dict(Annotator.objects.filter(study=study).values_list("pseudonym", "demographics"))
    found = Annotation.objects.filter(
        assignment__annotator__study=study,
        assignment__annotator__excluded_at__isnull=not are_excluded,
        assignment__item__split=ItemRow.Split.MAIN,
        standing__in=COUNTED,
    ).values_list(
        "assignment__item_id",
        "assignment__annotator__pseudonym",
        "choice",
        "certainty",
        "assignment__shown_first",
        "active_ms",
        "elapsed_ms",
        "assignment__position",
    )
    rows = list(found)
    raters = tuple(sorted({row[1] for row in rows}))
    number = {pseudonym: after + index for index, pseudonym in enumerate(raters)}
    coded = sorted(
        (position[item], number[rater], CODE[choice], certainty, CODE[first], active or elapsed, at)
        for item, rater, choice, certainty, first, active, elapsed, at in rows
    )
    item, rater, choice, certainty, first, ms, place = columns(
        coded, "int64", "int64", "int8", "float64", "int8", "float64", "int64"
    )
    groups = tuple({k: str(v) for k, v in people[pseudonym].items()} for pseudonym in raters)
    return raters, groups, Answers(item, rater, choice, certainty, first, ms / 1000, place)


def _attention(study: Study, raters: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Attention checks that each rater has seen and failed."""
    found = Annotation.objects.filter(
        assignment__annotator__study=study, standing=Annotation.Standing.CHECK
    ).values_list("assignment__annotator__pseudonym", "choice", "assignment__item__check_answer")
    seen: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for rater, choice, right in found:
        seen[rater] += 1
        failed[rater] += choice != right
    return tuple((seen[rater], failed[rater]) for rater in raters)


def _people(study: Study) -> Mapping[str, int]:
    """People who came to the study itself, by the state they are in."""
    states = Annotator.objects.filter(study=study, is_imported=False).values_list("state")
    return dict(states.annotate(n=Count("pk")).order_by("state"))


def _quotas(study: Study) -> tuple[tuple[str, int, int], ...]:
    cells = QuotaCell.objects.filter(study=study)
    return tuple((str(cell), cell.target, cell.completed) for cell in cells)


def _not_counted(study: Study) -> Mapping[str, int]:
    """Answers that the report leaves out, by the reason."""
    excluded = Q(standing__in=COUNTED, assignment__annotator__excluded_at__isnull=False)
    of_study = Annotation.objects.filter(
        assignment__annotator__study=study, assignment__item__split=ItemRow.Split.MAIN
    )
    counts = {
        name: Count("pk", filter=Q(standing=name))
        for name in (
            Annotation.Standing.SURPLUS,
            Annotation.Standing.RELEASED,
            Annotation.Standing.WITHDRAWN,
        )
    }
    return of_study.aggregate(
        **counts,
        excluded=Count("pk", filter=excluded),
        excluded_people=Count("assignment__annotator", filter=excluded, distinct=True),
    )


def _runs(study: Study, position: Mapping[int, int]) -> tuple[Run, ...]:
    judgments = _judgments(study, position)
    costs = _costs(study)
    runs = []
    # A run that nobody has started after its probe is no judge of the study.
    started = JudgeRun.objects.filter(study=study, pk__in=judgments, probe_first=False)
    found = list(started.select_related("judge"))
    conditions = conditions_of(found)
    for run in found:
        rows, snapshots = judgments[run.pk]
        under = conditions[run.pk]
        runs.append(
            Run(
                run=run.key,
                judge=run.judge.name,
                setting=run.setting,
                features=run.features,
                backend=run.judge.backend,
                snapshots=snapshots,
                orders=run.orders,
                samples=run.samples,
                seed=run.seed,
                parameters=without_own_port(run.parameters),
                prompt=_prompt(study, run),
                state=run.state,
                state_reason=run.sentence,
                cost=costs.get(run.pk, Cost(0, 0, None, None, None)),
                judgments=rows,
                sent=tuple(asdict(each) | {"differs": list(each.differs)} for each in under.sent),
                reported=tuple(asdict(each) for each in under.reported),
                conditions=tuple(under.sentences),
            )
        )
    # The whole persona first: the runs that saw less are read against it.
    return tuple(
        sorted(runs, key=lambda r: (r.judge, r.setting, r.features != "all", r.features, r.run))
    )


def _prompt(study: Study, run: JudgeRun) -> Prompt:
    words = words_of(study.task, run.setting, persona=run.feature_keys != [])
    return Prompt(words.template, words.sha256, run.prompt_hash)


def _judgments(
    study: Study, position: Mapping[int, int]
) -> dict[int, tuple[Judgments, tuple[str, ...]]]:
    """The judgments and the reported model snapshots of each run, by the run's id."""
    found = Judgment.objects.filter(run__study=study, item__split=ItemRow.Split.MAIN).values_list(
        "run_id",
        "item_id",
        "shown_first",
        "sample",
        "choice",
        "certainty",
        "state",
        "replies",
        "model_snapshot",
        "probabilities",
    )
    rows: dict[int, list[tuple[Any, ...]]] = {}
    snapshots: dict[int, Counter[str]] = {}
    for run, item, first, sample, choice, certainty, state, replies, snapshot, told in found:
        status = "open" if state in Judgment.OPEN else state
        shares = [float(told.get(option, 0)) if told else np.nan for option in CHOICES]
        rows.setdefault(run, []).append(
            (position[item], CODE[first], sample, CODE[choice], certainty, status, replies, shares)
        )
        snapshots.setdefault(run, Counter())[snapshot] += 1
    return {
        run: (
            Judgments.from_rows(coded),
            tuple(sorted(filter(None, snapshots[run]))),
        )
        for run, coded in rows.items()
    }


def _costs(study: Study) -> dict[int, Cost]:
    """What the ledger says of each run; a sum stays unknown where any part of it is."""
    replied = Q(outcome=Attempt.Outcome.REPLIED)
    sums = (
        Attempt.objects.filter(judgment__run__study=study)
        .values_list("judgment__run")
        .annotate(
            requests=Count("pk"),
            failed=Count("pk", filter=~replied),
            tokens_in=Sum("prompt_tokens"),
            tokens_out=Sum("completion_tokens"),
            nano=Sum("cost_nano"),
            unpriced=Count("pk", filter=replied & Q(cost_nano=None)),
        )
        .order_by()
    )
    return {
        run: Cost(requests, failed, sent, got, None if unpriced or nano is None else nano / NANO)
        for run, requests, failed, sent, got, nano, unpriced in sums
    }
