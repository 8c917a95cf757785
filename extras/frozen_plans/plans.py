"""Reading a frozen plan, sealing items and design, and what differs from the seals."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from analysis.data.frozen_plan import USUAL_FRAMING, Departure, FrozenPlan, PlanAndData
from analysis.errors import AnalysisError
from annotation.models import Annotation, QuotaGroup
from extras.frozen_plans.models import AnalysisPlan
from judging.models import JudgeRun, Judgment, PromptTemplate
from judging.protocols.framings import framings as all_framings
from judging.protocols.registry import names as protocol_names
from studies.models import Item as ItemRow
from studies.models import Study, StudyLog
from studies.services.settings import SETTINGS_CHANGED

if TYPE_CHECKING:
    from analysis.report.section import Analysis
    from analysis.report.study import ReportedStudy

# The parts of the design that a plan seals, in words.
SEALED = {
    "items": "items",
    "annotations_per_item": "answers per item",
    "items_per_annotator": "items per annotator",
    "people": "number of people",
    "groups": "quota groups",
    "draw": "items drawn for annotators",
    "ties": "ties",
    "prompts": "wording of the planned runs",
}


# Events in a study's log that change settings or what a plan seals.
_CHANGED_BY = {
    "items": Q(event__icontains="item") & ~Q(event__icontains="draw"),
    "groups": Q(event__in=("groups set", "group's places")),
    "draw": Q(event__icontains="draw"),
}
_CHANGED_BY["people"] = _CHANGED_BY["items"] | _CHANGED_BY["groups"] | _CHANGED_BY["draw"]
_SETTINGS = {
    "annotations_per_item": {"annotations_per_item"},
    "items_per_annotator": {"items_per_annotator"},
    "people": {"annotations_per_item", "items_per_annotator", "human_sample"},
    "draw": {"human_sample"},
    "ties": {"allow_tie"},
}


def read_plan(study: Study) -> FrozenPlan | None:
    """The study's frozen plan. Raises `AnalysisError` if it was altered."""
    row = AnalysisPlan.objects.filter(study=study).first()
    if row is None:
        return None
    plan = FrozenPlan(row.content, row.answers, row.judgments, row.frozen_at.isoformat(), row.seal)
    if plan.sealed() != plan.seal:
        raise AnalysisError(
            f"The analysis plan of “{study.slug}” was changed in the database after it was "
            f"frozen: its hash is {plan.sealed()[:12]}…, but its seal says {plan.seal[:12]}…. "
            "Restore the row from a backup."
        )
    return plan


def run_settings() -> list[str]:
    """Name the judging protocols that a planned run can use."""
    return protocol_names()


def framings() -> list[str]:
    """Name the framings that a planned run can use."""
    return [*all_framings()]


def wording_of(study: Study, name: str) -> tuple[str, str] | None:
    """Reference and hash of a wording of the study, named as name or name@version."""
    stem, _, version = name.partition("@")
    wordings = PromptTemplate.objects.filter(study=study, name=stem)
    if version:
        wordings = wordings.filter(version=int(version) if version.isdecimal() else 0)
    newest = wordings.order_by("version").last()
    return None if newest is None else (newest.reference, newest.sha256)


def data_so_far(study: Study) -> tuple[int, int]:
    """The number of answers and of judgments, including those that do not count."""
    answers = Annotation.objects.filter(
        assignment__annotator__study=study, assignment__item__split=ItemRow.Split.MAIN
    ).count()
    judged = Judgment.objects.filter(run__study=study).exclude(state__in=Judgment.OPEN)
    return answers, judged.count()


def seal_now(study: Study, judges: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """A study's items and design, as a plan seals them."""
    hashes = {key: digest for key, (digest, _) in _items(study).items()}
    return {
        "items": {"n": len(hashes), "sha256": _hash(sorted(hashes.items())), "each": hashes},
        **_design(study, len(hashes)),
        "prompts": [_prompt(study, judge) for judge in judges] if hashes else [],
    }


def since_the_plan(
    study: Study, plan: FrozenPlan, keys: Sequence[str]
) -> tuple[tuple[Departure, ...], list[bool] | None]:
    """Departures from a plan's seals, and which of the items `keys` it sealed.

    The second is None if all or none are sealed. If the plan sealed no items, those at the first
    answer count.
    """
    changes = item_changes(study, plan)
    departures = [departure for _, departure in design_departures(study, plan, changes.n)]
    parts = {
        "added": changes.added,
        "changed": changes.changed,
        "taken out": changes.taken_out,
        "removed": changes.removed,
    }
    if any(parts.values()):
        how = ", ".join(f"{len(names):,} {word}" for word, names in parts.items() if names)
        done = f"{len(keys):,} items: {how}"
        departures.append(Departure("items", changes.planned, done, *changes.when))
    other = {*changes.added, *changes.changed}
    is_sealed = [key not in other for key in keys]
    partly = any(is_sealed) and not all(is_sealed)
    return tuple(departures), is_sealed if partly else None


@dataclass(frozen=True)
class ItemChanges:
    """The keys of items that differ from those of a plan, which are `planned` in words.

    `n` is the number of items now, including those that were taken out; one and those that correct
    it are one item. `when` has the days of the changes and who made them.
    """

    n: int
    planned: str
    added: Sequence[str]
    changed: Sequence[str]
    taken_out: Sequence[str]
    removed: Sequence[str]
    when: tuple[str, str]


def item_changes(study: Study, plan: FrozenPlan) -> ItemChanges:
    """If the plan sealed no items, those at the first answer count as planned."""
    sealed = plan.content.get("sealed", {})
    now = _items(study)
    out = set(
        _with_faulty(study).filter(split=ItemRow.Split.LEFT_OUT).values_list("key", flat=True)
    )
    corrections = _with_faulty(study).filter(**{f"metadata__{ItemRow.REPLACES}__in": [*now, *out]})
    before = sealed.get("items", {}).get("each")
    if before:
        added = [key for key in now if key not in before]
        changed = [key for key in now if key in before and before[key] != now[key][0]]
        gone = before.keys() - now.keys()
        planned = f"{len(before):,} items ({sealed['items']['sha256'][:12]}…)"
    else:
        first = study.frozen_at
        added = [key for key, (_, at) in now.items() if first is not None and at > first]
        changed, gone = [], out
        n = len(now) - len(added)
        planned = f"{n:,} items at the first answer (the plan sealed none)"
    return ItemChanges(
        n=len(now) + len(out) - corrections.count(),
        planned=planned,
        added=sorted(added),
        changed=sorted(changed),
        taken_out=sorted(gone & out),
        removed=sorted(gone - out),
        when=_when(study, plan, "items"),
    )


def begun_of(study: Study, plan: FrozenPlan) -> dict[str, tuple[str, str]]:
    """The start day of each run by key, and who started it, if a plan seals its words."""
    if not plan.content.get("sealed", {}).get("prompts"):
        return {}
    logged = StudyLog.objects.filter(study=study, detail__has_key="run").order_by("-pk")
    names = dict(logged.values_list("detail__run", "user__username"))  # the first event counts
    return {
        key: (f"{created:%Y-%m-%d}", names.get(public_id) or "a command")
        for key, public_id, created in JudgeRun.objects.filter(study=study).values_list(
            "key", "public_id", "created_at"
        )
    }


def design_departures(
    study: Study, plan: FrozenPlan, items: int
) -> Iterator[tuple[str, Departure]]:
    """Departures from the sealed settings and quota groups, by their names in the seal."""
    now = _design(study, items)
    for key, planned in sorted(plan.content.get("sealed", {}).items()):
        if key in now and planned != now[key]:
            words = _words(planned), _words(now[key])
            yield key, Departure(SEALED[key], *words, *_when(study, plan, key))


def _design(study: Study, items: int) -> dict[str, Any]:
    """The part of a seal that depends on settings, and the number of people for `items`."""
    groups = {str(group): group.target for group in QuotaGroup.objects.filter(study=study)}
    answers = min(study.human_sample or items, items) * study.annotations_per_item
    return {
        "annotations_per_item": study.annotations_per_item,
        "items_per_annotator": study.items_per_annotator,
        "people": sum(groups.values()) or ceil(answers / study.items_per_annotator),
        "groups": groups,
        "draw": _draw(study),
        "ties": study.allow_tie,
    }


def _words(value: Any) -> str:
    """A sealed value as words."""
    if isinstance(value, bool):
        return "can be chosen" if value else "cannot be chosen"
    if isinstance(value, Mapping):
        named = (f"{key}: {_words(part)}" for key, part in sorted(value.items()))
        return "; ".join(named) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)[:40]


def _items(study: Study) -> dict[str, tuple[str, datetime]]:
    """A digest of each item, including its right answer, and when it was stored."""
    rows = ItemRow.objects.filter(study=study).order_by()
    return {
        key: (_hash([content, truth])[:12], at)
        for key, content, truth, at in rows.values_list(
            "key", "content_hash", "first_person", "created_at"
        )
    }


def _with_faulty(study: Study) -> QuerySet[ItemRow]:
    splits = (ItemRow.Split.MAIN, ItemRow.Split.LEFT_OUT)
    return ItemRow.everything.filter(study=study, split__in=splits)


def _draw(study: Study) -> dict[str, Any]:
    """The items that were drawn for annotators; empty if they get all of them."""
    if study.human_sample is None:
        return {}
    # Taking out a drawn item changes the items, and not how they were drawn.
    drawn = _with_faulty(study).filter(seats_needed__gt=0).values_list("key", flat=True)
    return {"items": study.human_sample, "sha256": _hash(sorted(drawn)), **study.draw}


def _prompt(study: Study, judge: Mapping[str, str]) -> str:
    """The hash of the words with which a planned run would start now."""
    # Imported here because pages read plans and should not load prompts.
    from judging.prompts.asking import Asking, tasks_of
    from judging.runs.spec import language_for

    wording = None
    if "wording" in judge:
        name, _, version = judge["wording"].partition("@")
        wording = PromptTemplate.objects.get(study=study, name=name, version=int(version))
    run = JudgeRun(
        study=study,
        setting=judge["setting"],
        feature_keys=[] if judge["features"] == "none" else None,
        wording=wording,
        framing=judge.get("framing", USUAL_FRAMING),
        prompt_language=language_for(study, ""),
    )
    return Asking.of(run).sha256(tasks_of(study))


def _hash(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _when(study: Study, plan: FrozenPlan, key: str) -> tuple[str, str]:
    """The days on which a sealed value changed after the plan, and who changed it."""
    changed = _CHANGED_BY.get(key, Q(pk=None))
    named = Q(event=SETTINGS_CHANGED) if key in _SETTINGS else Q(pk=None)
    if key in ("annotations_per_item", "people"):
        changed |= Q(event="seats added")
    rows = StudyLog.objects.filter(
        changed | named, study=study, created_at__gt=datetime.fromisoformat(plan.frozen_at)
    ).select_related("user")
    changes = [
        row
        for row in rows.order_by("created_at", "pk")
        if row.event != SETTINGS_CHANGED or _SETTINGS[key] & {*row.detail["fields"]}
    ]
    days = dict.fromkeys(f"{row.created_at:%Y-%m-%d}" for row in changes)
    names = dict.fromkeys(row.user.get_username() if row.user else "a command" for row in changes)
    return ", ".join(days), ", ".join(names)


class DatabaseKeeper:
    """Plans in the table of this extra. What loads the statistics is imported when called."""

    name = "frozen_plans"

    def content(self, study: Study) -> Mapping[str, Any]:
        plan = AnalysisPlan.objects.filter(study=study).first()
        return plan.content if plan else {}

    def read(self, study: Study, items: Sequence[str], *, at: datetime | None) -> PlanAndData:
        plan = read_plan(study)
        if plan is None or (at and datetime.fromisoformat(plan.frozen_at) > at):
            return PlanAndData()
        departures, is_sealed = since_the_plan(study, plan, items) if at is None else ((), None)
        return PlanAndData(plan, departures, is_sealed, begun_of(study, plan))

    def alone(self, study: "ReportedStudy") -> "ReportedStudy | None":
        from extras.frozen_plans.registration import alone_on_sealed

        return alone_on_sealed(study)

    def registration(
        self,
        study: "ReportedStudy",
        report: Mapping[str, Any],
        analyses: "Sequence[Analysis]",
        asked: Mapping[str, str],
    ) -> dict[str, Any]:
        from extras.frozen_plans.registration import of_plan

        return of_plan(study, report, analyses, asked)

    def freeze(
        self,
        study: Study,
        *,
        judges: Sequence[Mapping[str, str]],
        hypotheses: str,
        user: User | None,
    ) -> FrozenPlan:
        from extras.frozen_plans.freezing import freeze_plan, usual_analyses

        return freeze_plan(
            study_id=study.pk,
            user=user,
            analyses=usual_analyses(study, judges),
            judges=judges,
            hypotheses=hypotheses,
        )

    def effects(self, slug: str, *, bootstrap: int) -> list[dict[str, Any]]:
        from extras.frozen_plans.deviation_list import effects_of_deviations

        return effects_of_deviations(slug, bootstrap=bootstrap)


KEEPER = DatabaseKeeper()
