"""Quota places and plans. Every change happens under the lock of the Study row.

Seats belong to items, group places to people. A place is worth the seats that its holder fills: a
new annotator fills all that an annotator gets, one whose work already exists only those that are
left.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q, QuerySet

from annotation.errors import QuotaError
from annotation.models import Annotator, DemographicQuestion, QuotaGroup
from annotation.seats import assignment
from annotation.seats.assignment import has_lost_place, is_doubtful
from annotation.seats.capacity import forecast_of, without
from studies.models import Study
from studies.services.studies import check_seen, lock_study, record, seen_of
from studies.texts.toml_values import NotToml, toml_value


def matching_group(
    groups: Sequence[QuotaGroup], demographics: Mapping[str, str]
) -> QuotaGroup | None:
    """The first group whose criteria all match, or the one for everyone else."""
    for group in groups:
        if not group.is_everyone_else and all(
            demographics.get(key) == value for key, value in group.criteria.items()
        ):
            return group
    return next((group for group in groups if group.is_everyone_else), None)


def find_group(annotator: Annotator) -> None:
    """Store the annotator's group without taking a place."""
    groups = list(QuotaGroup.objects.filter(study_id=annotator.study_id))
    annotator.quota_group = matching_group(groups, annotator.demographics)
    annotator.save(update_fields=["quota_group"])


def reserve(annotator: Annotator) -> bool:
    """Reserve a place in the annotator's group; False if it is full or no group matches.

    A study without groups has room for everybody.
    """
    groups = list(QuotaGroup.objects.filter(study_id=annotator.study_id))
    if not groups:
        return True
    annotator.quota_group = matching_group(groups, annotator.demographics)
    taken = annotator.quota_group is not None and QuotaGroup.objects.filter(
        pk=annotator.quota_group.pk, target__gt=F("reserved") + F("completed")
    ).update(reserved=F("reserved") + 1)
    annotator.quota = Annotator.Quota.RESERVED if taken else Annotator.Quota.NONE
    annotator.save(update_fields=["quota_group", "quota"])
    return bool(taken)


def _group(annotator: Annotator) -> QuerySet[QuotaGroup]:
    return QuotaGroup.objects.filter(annotators=annotator)


def fill(annotator: Annotator) -> None:
    """Turn the annotator's reserved place into a completed one."""
    if annotator.quota != Annotator.Quota.RESERVED:
        return
    _group(annotator).update(reserved=F("reserved") - 1, completed=F("completed") + 1)
    annotator.quota = Annotator.Quota.COMPLETED
    annotator.save(update_fields=["quota"])


def release(annotator: Annotator) -> None:
    """Release the place that the annotator holds, if any."""
    if annotator.quota == Annotator.Quota.NONE:
        return
    counter = annotator.quota  # The states have the same names as the counters.
    _group(annotator).update(**{counter: F(counter) - 1})
    annotator.quota = Annotator.Quota.NONE
    annotator.save(update_fields=["quota"])


@dataclass(frozen=True)
class QuotaQuestion:
    """A question of “About you”: its key, its wording, and value → label in order.

    `sentence` states the answer in a profile of the annotator.
    """

    key: str
    label: str
    options: Mapping[str, str]
    sentence: str = ""


def is_sentence(text: str) -> bool:
    """Whether `text` can state an answer in a profile."""
    return "{answer}" in text and len(text) <= 200


@dataclass(frozen=True)
class Quota:
    """Places for annotators who match `criteria` (question key → value); empty: everyone else."""

    target: int
    criteria: Mapping[str, str] = field(default_factory=dict)


@transaction.atomic
def set_quotas(
    *,
    study_id: int,
    questions: Sequence[QuotaQuestion] | None = None,
    groups: Sequence[Quota],
    seen: str | None = None,
    user: User | None = None,
) -> list[QuotaGroup]:
    """Set a study's questions and quota groups; repeating the same plan changes nothing.

    Without `questions` the study keeps its own. `seen` is the `seen_plan` that a form showed.

    Groups keep their taken places: targets may change at any time, but never below these; questions
    and criteria only until the first annotator enters. Raises `QuotaError`, and `StaleVersion` if
    somebody changed what was seen.
    """
    study = lock_study(study_id)
    check_seen(study, seen, seen_plan(study), what="the quota groups or their questions")
    if questions is None:
        questions = questions_of(study)
    _check_plan(questions, groups)
    known = {_criteria_key(group.criteria): group for group in study.quota_groups.all()}
    planned = {_criteria_key(group.criteria): group for group in groups}
    if set(known) != set(planned) or not _same_questions(study, questions):
        if have_entered(study):
            raise QuotaError(
                f"People have entered “{study.slug}”, so its questions and groups are fixed. "
                "Change only the targets, or create a new study."
            )
        study.quota_groups.all().delete()
        study.demographic_questions.all().delete()
        _create_plan(study, questions, groups)
        places = sum(group.target for group in groups)
        record(study, "groups set", user=user, groups=len(groups), places=places)
    else:
        _retarget(study, known, planned, user)
    return list(study.quota_groups.all())


def seen_plan(study: Study) -> str:
    """The hash of the questions and groups that a form of groups shows."""
    groups = study.quota_groups.values_list("criteria", "is_everyone_else", "target")
    return seen_of(seen_questions(study), list(groups))


def seen_questions(study: Study) -> str:
    """The hash of the questions that a form of questions shows."""
    rows = study.demographic_questions.values_list("key", "label", "options", "sentence")
    return seen_of(list(rows))


@transaction.atomic
def set_about_questions(
    *,
    study_id: int,
    questions: Sequence[QuotaQuestion],
    seen: str | None = None,
    user: User | None = None,
) -> None:
    """Set a study's questions of “About you” and keep its quota groups.

    Raises `QuotaError`, and `StaleVersion` if the questions are not the `seen` ones.
    """
    # Locked before the groups are read, so that a quota saved at this moment is kept.
    study = lock_study(study_id)
    check_seen(study, seen, seen_questions(study), what="the questions of “About you”")
    groups = [Quota(group.target, group.criteria) for group in study.quota_groups.all()]
    offered = {question.key: question.options for question in questions}
    for old in questions_of(study):
        for key, value in {pair for group in groups for pair in group.criteria.items()}:
            if key == old.key and value not in offered.get(key, {}):
                raise QuotaError(
                    f"The quota groups use “{old.options[value]}” of “{old.label}”. Remove it from "
                    "the quota first."
                )
    set_quotas(study_id=study_id, questions=questions, groups=groups, user=user)


def have_entered(study: Study) -> bool:
    """Whether annotators have entered, which fixes questions and groups."""
    return study.annotators.filter(is_imported=False).exists()


def questions_of(study: Study) -> list[QuotaQuestion]:
    return [
        QuotaQuestion(
            question.key,
            question.label,
            {option["value"]: option["label"] for option in question.options},
            question.sentence,
        )
        for question in study.demographic_questions.all()
    ]


def _criteria_key(criteria: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(criteria.items()))


def _check_plan(questions: Sequence[QuotaQuestion], groups: Sequence[Quota]) -> None:
    options = {question.key: question.options for question in questions}
    seen = set()
    for group in groups:
        for key, value in group.criteria.items():
            if key not in options:
                raise QuotaError(f"A group requires “{key}”, but no question has that key.")
            if value not in options[key]:
                raise QuotaError(
                    f"A group requires {key} “{value}”. The question offers: "
                    f"{', '.join(options[key])}."
                )
        if _criteria_key(group.criteria) in seen:
            raise QuotaError(f"Two groups have the same criteria: {dict(group.criteria)}.")
        seen.add(_criteria_key(group.criteria))


def _same_questions(study: Study, questions: Sequence[QuotaQuestion]) -> bool:
    stored = [(q.key, q.label, q.options, q.sentence) for q in study.demographic_questions.all()]
    return stored == [(q.key, q.label, _stored_options(q), q.sentence) for q in questions]


def _stored_options(question: QuotaQuestion) -> list[dict[str, str]]:
    return [{"value": value, "label": label} for value, label in question.options.items()]


def _create_plan(study: Study, questions: Sequence[QuotaQuestion], groups: Sequence[Quota]) -> None:
    DemographicQuestion.objects.bulk_create(
        DemographicQuestion(
            study=study,
            key=question.key,
            label=question.label,
            options=_stored_options(question),
            sentence=question.sentence,
            position=position,
        )
        for position, question in enumerate(questions, start=1)
    )
    QuotaGroup.objects.bulk_create(
        QuotaGroup(
            study=study,
            criteria=dict(group.criteria),
            is_everyone_else=not group.criteria,
            target=group.target,
            position=position,
        )
        for position, group in enumerate(groups, start=1)
    )


def _retarget(
    study: Study,
    known: Mapping[tuple[tuple[str, str], ...], QuotaGroup],
    planned: Mapping[tuple[tuple[str, str], ...], Quota],
    user: User | None,
) -> None:
    for key, group in known.items():
        target = planned[key].target
        if target == group.target:
            continue
        if target < group.reserved + group.completed:
            raise QuotaError(
                f"The group “{group}” has {group.reserved + group.completed} taken places, so its "
                f"target cannot become {target}."
            )
        change = {"group": str(group), "before": group.target, "after": target}
        record(study, "group's places", user=user, **change)
        QuotaGroup.objects.filter(pk=group.pk).update(target=target)


def retake_place(annotator: Annotator) -> bool:
    """Reserve a group place for a returning annotator with items; False if none is free.

    Also False if their items now have too few open seats.
    """
    return _needs_a_place(annotator) and reserve(annotator)


def give_open_places(study: Study) -> None:
    """Give open group places, and their items' seats, to annotators beyond their group.

    Annotators who fill the most seats come first, then the earliest.
    """
    rooms = [group.pk for group in study.quota_groups.all() if group.open > 0]
    if not rooms:
        return
    beyond = (
        # Nobody here holds a seat, so saving their answers locks no item: locking them after items
        # cannot cause a deadlock.
        Annotator.objects.select_for_update(no_key=True, of=("self",))
        .filter(study=study, works_surplus=True, excluded_at=None, quota_group__in=rooms)
        .filter(_is_active())
        .order_by("screened_at", "pk")
    )
    waiting = [a for a in beyond if not has_lost_place(a) and not is_doubtful(a)]
    for annotator in sorted(waiting, key=lambda a: -assignment.within_reach(a).total()):
        annotator.study = study
        if not assignment.fills_a_place(annotator) or not _needs_a_place(annotator):
            continue
        if not reserve(annotator):
            continue
        annotator.works_surplus = False
        annotator.save(update_fields=["works_surplus"])
        if annotator.state == Annotator.State.COMPLETED:
            fill(annotator)
        assignment.seat_surplus(annotator)


def _is_active() -> Q:
    # An ending clears the time limit.
    return Q(expires_at__isnull=False) | Q(state=Annotator.State.COMPLETED)


def _needs_a_place(annotator: Annotator) -> bool:
    """Whether the other places still bring enough people if this annotator takes one."""
    # The forecast reads every open item, so only studies with groups compute it.
    if not annotator.study.quota_groups.exists() or not annotator.assignments.exists():
        return True
    before = forecast_of(annotator.study)
    seats = without(before.seats, assignment.within_reach(annotator))
    after = dataclasses.replace(before, seats=seats, room=(before.room or 0) - 1)
    return after.missing_room <= before.missing_room


EXAMPLE = """\
[[question]]
key = "gender"
label = "What is your gender?"
options = {woman = "Woman", man = "Man"}

[[group]]
target = 5
gender = "woman"

[everyone_else]
target = 2
"""


def read_plan(text: str) -> tuple[list[QuotaQuestion], list[Quota]]:
    """Read the questions and groups of a plan; `QuotaError` says what is wrong and where."""
    try:
        plan = toml_value(text)
    except NotToml as error:
        raise QuotaError(f"The file is not TOML: {error}.") from error
    if unknown := set(plan) - {"question", "group", "everyone_else"}:
        raise QuotaError(
            f"The file has “{sorted(unknown)[0]}”. Use [[question]], [[group]], [everyone_else]."
        )
    questions = [_question(n, row) for n, row in enumerate(plan.get("question", []), start=1)]
    groups = [
        _read_group(f"group {n}", row) for n, row in enumerate(plan.get("group", []), start=1)
    ]
    if "everyone_else" in plan:
        groups.append(_read_group("everyone_else", plan["everyone_else"]))
    return questions, groups


def _question(number: int, row: dict[str, Any]) -> QuotaQuestion:
    options = row.get("options")
    words = (row.get("key"), row.get("label"))
    if not all(isinstance(word, str) and word for word in words) or not _is_table(options):
        raise QuotaError(f"question {number} needs key, label and options. An example:\n{EXAMPLE}")
    return QuotaQuestion(row["key"], row["label"], row["options"], _sentence(number, row))


def _sentence(number: int, row: dict[str, Any]) -> str:
    """The sentence that states the answer in a profile, checked for its placeholder."""
    sentence = row.get("sentence", "")
    if sentence and not (isinstance(sentence, str) and is_sentence(sentence)):
        raise QuotaError(
            f"question {number}: sentence must be a text of up to 200 letters with {{answer}} in "
            'it, for example "The person is {answer}."'
        )
    return sentence


def _is_table(options: object) -> bool:
    return (
        isinstance(options, dict)
        and bool(options)
        and all(isinstance(label, str) for label in options.values())
    )


def _read_group(name: str, row: dict[str, Any]) -> Quota:
    criteria = {key: value for key, value in row.items() if key != "target"}
    target = row.get("target")
    if not isinstance(target, int) or isinstance(target, bool) or target < 0:
        raise QuotaError(f"{name} needs a target, a whole number of places.")
    if name == "everyone_else" and criteria:
        raise QuotaError("everyone_else has no criteria, only a target.")
    if name != "everyone_else" and not criteria:
        raise QuotaError(f'{name} needs criteria, for example gender = "woman".')
    return Quota(target, criteria)
