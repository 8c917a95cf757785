"""Adjudication: the rule, experts, their items, and their decisions until it is closed."""

import hashlib
import hmac
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Max, Q

from annotation.files.imports import AddedAnswers, AnswerIn, read_answers
from extras.label_models.models import Adjudication, Expert, ExpertDecision, SplitItem
from extras.label_models.splitting import sets_of, split_now
from studies.errors import StudyError
from studies.importers.files.bundle import File
from studies.importers.files.faults import Fault, Refused
from studies.models import Item, Membership, Side, Study
from studies.models.keys import random_id
from studies.services.accounts.team import GivenRight, hash_of
from studies.services.studies import check_seen, lock_study, record, seen_of
from studies.services.whole_studies import StudyContent, copy_rows
from studies.statements import clock

KEY_LENGTH = 43  # 256 bits
FIELDS = ("no_majority", "below", "sets", "per_item")
CLOSED = "The adjudication is closed. Open it again to change decisions."


def rule_of(study: Study) -> Adjudication:
    """The stored rule of a study, or the usual one."""
    rule = Adjudication.objects.filter(study=study).first() or Adjudication(study=study)
    rule.study = study
    return rule


def seen_rule(rule: Adjudication) -> str:
    """The hash of a rule that a form shows."""
    return seen_of(*(getattr(rule, name) for name in FIELDS))


@transaction.atomic
def set_rule(
    *,
    study_id: int,
    wanted: Mapping[str, Any],
    seen: str | None = None,
    user: User | None = None,
) -> None:
    """Store which items go to how many experts; what was sent stays.

    Raises `StudyError`, and `StaleVersion` if the rule is not the one whose `seen_rule` a form
    showed.
    """
    study = lock_study(study_id)
    rule = rule_of(study)
    check_seen(study, seen, seen_rule(rule), what="which items go to experts")
    before = {name: getattr(rule, name) for name in FIELDS}
    if before == {**wanted} and rule.pk:
        return
    if unknown := {*wanted["sets"]} - sets_of(study).keys():
        raise StudyError(f"This study has no set of items “{sorted(unknown)[0]}”.")
    if not (wanted["no_majority"] or wanted["below"] or wanted["sets"]):
        raise StudyError("Choose at least one kind of items that experts decide.")
    for name, value in wanted.items():
        setattr(rule, name, value)
    rule.save()
    record(study, "adjudication changed", user=user, before=before, after={**wanted})


@transaction.atomic
def add_expert(
    *, study_id: int, name: str, member: User | None = None, user: User | None = None
) -> tuple[Expert, str]:
    """Add an expert who decides by their account or, without a `member`, by a link.

    The key of the link is returned once, and cannot be read again. Raises `StudyError`.
    """
    study = lock_study(study_id)
    if Expert.objects.filter(study=study, name=name).exists():
        raise StudyError(f"There is an expert “{name}” already. Use another name.")
    if member and not Membership.objects.filter(study=study, user=member).exists():
        raise StudyError(f"{member.get_username()} is no member of the study.")
    if member and Expert.objects.filter(study=study, user=member, ended_at=None).exists():
        raise StudyError(f"{member.get_username()} is an expert already.")
    key = "" if member else random_id(KEY_LENGTH)
    expert = Expert.objects.create(
        study=study,
        name=name,
        way=Expert.Way.ACCOUNT if member else Expert.Way.LINK,
        user=member,
        key_hash=hash_of(key) if key else "",
        created_by=user,
    )
    record(study, "expert added", user=user, expert=expert.public_id, by=expert.way)
    return expert, key


@transaction.atomic
def end_expert(*, expert_id: int, user: User | None = None) -> None:
    """End an expert's access; what they have decided stays, and the rest goes to others."""
    study = lock_study(Expert.objects.values_list("study", flat=True).get(pk=expert_id))
    if Expert.objects.filter(pk=expert_id, ended_at=None).update(ended_at=clock.now()):
        expert = Expert.objects.get(pk=expert_id)
        expert.decisions.filter(choice="").delete()
        record(study, "expert ended", user=user, expert=expert.public_id)


def may_open(expert: Expert, user: Any, key: str) -> bool:
    """Whether a user, or somebody with this key, is the expert."""
    if not expert.may_decide:
        return False
    if expert.user_id:
        members = Membership.objects.filter(study=expert.study_id, user=expert.user_id)
        return bool(user.is_authenticated and user.pk == expert.user_id and members.exists())
    return hmac.compare_digest(hash_of(key), expert.key_hash)


@dataclass(frozen=True)
class SentItems:
    """What was sent: new items, places at experts, items that wait for answers or for experts."""

    items: int
    places: int
    waiting: int
    short: int

    def __str__(self) -> str:
        sentences = [f"Split items that are new: {self.items:,}; sent to experts: {self.places:,}."]
        if self.waiting:
            sentences.append(f"Still collect answers, so they wait: {self.waiting:,}.")
        if self.short:
            sentences.append(f"Lack an expert: {self.short:,}. Add experts, then send again.")
        return " ".join(sentences)


@transaction.atomic
def send_items(*, study_id: int, user: User | None = None, dry_run: bool = False) -> SentItems:
    """Add the items that are split now to the queue, and give each to enough experts.

    Items that were sent before stay, whatever the rule says now. Raises `StudyError` if closed.
    """
    study = lock_study(study_id)
    rule = rule_of(study)
    if rule.closed_at:
        raise StudyError(CLOSED)
    split = split_now(rule)
    known = {*SplitItem.objects.filter(item__study=study).values_list("item", flat=True)}
    new = {pk: reason for pk, reason in split.reasons.items() if pk not in known}
    keys = dict(
        Item.objects.filter(study=study, pk__in=known | new.keys()).values_list("pk", "key")
    )
    places, short = _places(study, rule.per_item, keys)
    if not dry_run:
        rule.save()
        SplitItem.objects.bulk_create(
            SplitItem(item_id=pk, reason=reason) for pk, reason in new.items()
        )
        _give(study, places, keys)
        record(study, "items sent to experts", user=user, items=len(new), places=len(places))
    return SentItems(len(new), len(places), split.waiting, short)


def _places(
    study: Study, per_item: int, keys: Mapping[int, str]
) -> tuple[list[tuple[int, int]], int]:
    """Pairs of an expert and an item so that each has enough, and how many items still lack one.

    The expert with the fewest items comes first.
    """
    able = [expert.pk for expert in Expert.objects.filter(study=study) if expert.may_decide]
    load = Counter(dict.fromkeys(able, 0))
    holders: dict[int, set[int]] = {pk: set() for pk in keys}
    rows = ExpertDecision.objects.filter(expert__study=study).values_list("expert", "item")
    for expert, item in rows:
        load[expert] += 1
        holders.setdefault(item, set()).add(expert)
    places, short = [], 0
    for item in sorted(keys, key=lambda pk: _shuffled(study, keys[pk])):
        free = sorted((pk for pk in able if pk not in holders[item]), key=lambda pk: (load[pk], pk))
        wanted = max(0, per_item - len(holders[item]))
        short += len(free) < wanted
        for expert in free[:wanted]:
            load[expert] += 1
            places.append((expert, item))
    return places, short


def _shuffled(study: Study, *words: str) -> bytes:
    """A number by which items are in random order: neither their ids nor their splits show."""
    return hashlib.sha256(repr((study.seed, *words)).encode()).digest()


def _give(study: Study, places: Sequence[tuple[int, int]], keys: Mapping[int, str]) -> None:
    """Store new places, after those that an expert has, in an order of the expert's own."""
    experts = Expert.objects.filter(study=study).annotate(last=Max("decisions__position"))
    rows = []
    for expert in experts:
        order = {
            item: _shuffled(study, expert.public_id, keys[item])
            for pk, item in places
            if pk == expert.pk
        }
        for place, item in enumerate(sorted(order, key=order.__getitem__), (expert.last or 0) + 1):
            first = Side.R1 if order[item][-1] % 2 else Side.R2
            rows.append(
                ExpertDecision(expert=expert, item_id=item, position=place, shown_first=first)
            )
    ExpertDecision.objects.bulk_create(rows, batch_size=1_000)


@transaction.atomic
def decide(*, decision_id: int, choice: str, certainty: int | None) -> None:
    """Store a decision, or take it back with an empty choice. Raises `StudyError` if closed."""
    row = ExpertDecision.objects.select_related("expert").get(pk=decision_id)
    study = lock_study(row.expert.study_id)
    row = ExpertDecision.objects.get(pk=decision_id)
    if rule_of(study).closed_at or Expert.objects.get(pk=row.expert_id).ended_at:
        raise StudyError(CLOSED)
    if (row.choice, row.certainty) == (choice, certainty):
        return
    row.changes += bool(row.choice)
    row.choice, row.certainty = choice, certainty
    row.decided_at = clock.now() if choice else None
    row.save(update_fields=["choice", "certainty", "decided_at", "changes"])


@transaction.atomic
def set_closed(*, study_id: int, is_closed: bool, user: User | None = None) -> None:
    """Close an adjudication, so that nobody changes a decision, or open it again."""
    study = lock_study(study_id)
    rule = rule_of(study)
    if bool(rule.closed_at) == is_closed:
        return
    rule.closed_at = clock.now() if is_closed else None
    rule.save()
    record(study, "adjudication closed" if is_closed else "adjudication opened again", user=user)


@dataclass(frozen=True)
class ImportedDecisions:
    """The result of an import."""

    added: int
    unchanged: int
    experts: int

    def __str__(self) -> str:
        return (
            f"Decisions imported: {self.added:,}; there already: {self.unchanged:,}. Experts in "
            f"the file: {self.experts:,}."
        )


@transaction.atomic
def import_decisions(
    *, study_id: int, file: File, dry_run: bool = False, on_row: Callable[[], None] = lambda: None
) -> ImportedDecisions:
    """Import what experts decided elsewhere; importing the same again changes nothing.

    Raises `Refused` with every fault of the file, and `StudyError` if the adjudication is closed;
    then nothing is stored.
    """
    study = lock_study(study_id)
    rule = rule_of(study)
    if rule.closed_at:
        raise StudyError(CLOSED)
    items = dict(Item.objects.filter(study=study).values_list("key", "pk"))
    own = Expert.objects.filter(study=study).exclude(way=Expert.Way.FILE)
    answers = read_answers(
        file, item_keys=items, taken={*own.values_list("name", flat=True)}, on_row=on_row
    )
    rows = ExpertDecision.objects.filter(expert__study=study).select_related("expert", "item")
    stored = {(row.expert.name, row.item.key): row for row in rows}
    new: list[AnswerIn] = []
    faults = []
    for line in (line for portion in answers.portions() for line in portion):
        answer = line.answer
        before = stored.get((answer.rater_id, answer.item_id))
        if before is None:
            new.append(answer)
        elif (before.choice, before.certainty) != (answer.choice, answer.certainty):
            faults.append(
                Fault(
                    line.number,
                    "choice",
                    "another decision",
                    f"“{answer.rater_id}” has decided item “{answer.item_id}” differently before.",
                    "Imported decisions do not change. Correct the file.",
                    file=file.name,
                )
            )
    if faults:
        raise Refused(faults)
    names = {answer.rater_id for answer in new}
    if new and not dry_run:
        rule.save()
        _store(study, new, items)
        record(study, "decisions imported", decisions=len(new), file=file.name)
    return ImportedDecisions(len(new), len(answers) - len(new), len(names))


def _store(study: Study, answers: Sequence[AnswerIn], items: Mapping[str, int]) -> None:
    experts = {
        name: Expert.objects.get_or_create(
            study=study, name=name, defaults={"way": Expert.Way.FILE}
        )[0]
        for name in sorted({answer.rater_id for answer in answers})
    }
    known = {*SplitItem.objects.filter(item__study=study).values_list("item", flat=True)}
    SplitItem.objects.bulk_create(
        SplitItem(item_id=pk, reason=SplitItem.Reason.FILE)
        for pk in sorted({items[answer.item_id] for answer in answers} - known)
    )
    last = Counter(
        {
            expert.name: expert.decisions.aggregate(last=Max("position"))["last"] or 0
            for expert in experts.values()
        }
    )
    rows = []
    for answer in answers:
        last[answer.rater_id] += 1
        rows.append(
            ExpertDecision(
                expert=experts[answer.rater_id],
                item_id=items[answer.item_id],
                position=last[answer.rater_id],
                shown_first=answer.shown_first,
                choice=answer.choice,
                certainty=answer.certainty,
                decided_at=answer.answered_at or clock.now(),
            )
        )
    ExpertDecision.objects.bulk_create(rows, batch_size=1_000)


DECISIONS = AddedAnswers(
    "adjudication",
    "FILE has what experts decided about split items: rater_id (the expert), item_id, choice (r1, "
    "r2 or tie) and certainty",
    import_decisions,
)


def progress_of(study: Study) -> Any:
    """The experts of a study, each with the number of their items and of those decided."""
    return (
        Expert.objects.filter(study=study)
        .select_related("user")
        .annotate(
            items=Count("decisions"),
            decided=Count("decisions", filter=~Q(decisions__choice="")),
        )
    )


def copy_rule(study: Study, copy: Study) -> None:
    """Copies have the rule, but neither experts nor decisions."""
    copy_rows(Adjudication.objects.filter(study=study), study_id=copy.pk, closed_at=None)


def content_of(study: Study) -> StudyContent:
    decided = ExpertDecision.objects.filter(expert__study=study).exclude(choice="").count()
    return StudyContent([("decisions of experts", decided)] if decided else [])


def needed(study: Study) -> Any:
    """What has to end before the extra can be turned off."""
    rule = Adjudication.objects.filter(study=study, closed_at=None)
    if rule.exists() and Expert.objects.filter(study=study, ended_at=None).exists():
        yield "Experts can still decide items. Close the adjudication first."


def forget_items(study: Study, items: Collection[int]) -> None:
    """Delete what was decided about items that are removed."""
    ExpertDecision.objects.filter(item__in=items).delete()
    SplitItem.objects.filter(item__in=items).delete()


def links_of_an_owner(study: Study, user_id: int) -> list[GivenRight]:
    """The links that a member gave to experts and that still open their items."""
    links = Expert.objects.filter(study=study, created_by=user_id, ended_at=None)

    def grant(expert: Expert) -> GivenRight:
        return GivenRight(
            key=f"expert {expert.public_id}",
            label=f"link for the expert {expert.name}",
            end=lambda by: end_expert(expert_id=expert.pk, user=by),
            hand_to=lambda heir: Expert.objects.filter(pk=expert.pk).update(created_by=heir),
        )

    return [grant(expert) for expert in links.exclude(key_hash="")]
