"""Everything that was done otherwise than the frozen plan of a study says, read when asked.

Each deviation has a view that undoes it, where the data allow that, so that its effect on the
results can be computed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from analysis.data.frozen_plan import USUAL_FRAMING, FrozenPlan
from analysis.models import Report
from analysis.report.words import share_of
from annotation.content.consent_versions import AMENDED
from annotation.models import Annotator, AnnotatorEvent
from annotation.services.faulty_items import TAKEN_OUT
from extras.frozen_plans.plans import ItemChanges, begun_of, design_departures, item_changes
from judging.models import JudgeRun
from studies.models import Item, RemovedPerson, Study, StudyLog
from studies.services.settings import READING_FIELDS, SETTINGS_CHANGED

# Settings that a plan seals or that say how answers are read, which have entries of their own.
_ELSEWHERE = frozenset(
    ("annotations_per_item", "items_per_annotator", "human_sample", "allow_tie", *READING_FIELDS)
)
_COLLECTED = "the answers were collected this way, and nobody was asked the other way"
_MANY_ITEMS = 2_000


@dataclass(frozen=True)
class Deviation:
    """A deviation: `key` names it in addresses and in the log, `noted` are recorded reasons.

    `undone` are the filters of the view without it; where there is none, `why_not` says so.
    """

    key: str
    what: str
    registered: str
    done: str
    on: str = ""
    by: str = ""
    noted: tuple[str, ...] = ()
    undone: Mapping[str, Any] = field(default_factory=dict)
    why_not: str = ""


def deviations_of(study: Study, plan: FrozenPlan) -> list[Deviation]:
    """All deviations, those of the data first."""
    changes = item_changes(study, plan)
    deviations = [
        *_exclusions(study, plan),
        *_items_out(study),
        *_other_items(changes),
        *_deleted(study, plan),
        *_design(study, plan, changes),
        *_runs(study, plan),
        *_reports(study, plan),
        *_views(study),
        *_settings(study, plan),
        *_consent(study, plan),
    ]
    names = Counter(deviation.key for deviation in deviations)
    assert max(names.values(), default=1) == 1, names  # noqa: S101 - keys address the entries
    return deviations


def _exclusions(study: Study, plan: FrozenPlan) -> Iterator[Deviation]:
    people = Annotator.objects.filter(study=study).exclude(excluded_at=None)
    rows = [
        (person.pk, person.exclusion_reason, person.excluded_at)
        for person in people.order_by("excluded_at")
        if person.excluded_at is not None
    ]
    if not rows:
        return
    events = AnnotatorEvent.objects.filter(annotator__in=[pk for pk, *_ in rows], event="excluded")
    reasons = Counter(reason for _, reason, _ in rows)
    number = f"{len(rows):,} {'person is' if len(rows) == 1 else 'people are'} excluded"
    yield Deviation(
        "exclusions",
        "Excluded people",
        plan.content["exclusions"] or "Nobody is excluded",
        number,
        _days([at for *_, at in rows]),
        _names(events.order_by("pk").values_list("user__username", flat=True)),
        tuple(f"{reason} ({n:,})" for reason, n in reasons.items()),
        undone={"with_excluded": True},
    )


def _items_out(study: Study) -> Iterator[Deviation]:
    out = Item.everything.filter(study=study, split=Item.Split.LEFT_OUT).order_by("key")
    reasons = dict(out.values_list("key", "left_out_reason"))
    if reasons:
        log = study.log.filter(event=TAKEN_OUT, detail__item__in=list(reasons))
        number = f"{len(reasons):,} {'item is' if len(reasons) == 1 else 'items are'} taken out"
        yield Deviation(
            "items-out",
            "Items taken out",
            "All items count",
            f"{number}: {_some(reasons)}",
            *_when(log),
            noted=tuple(f"{key}: {reason}" for key, reason in reasons.items() if reason),
            undone={"with_left_out": True},
        )


def _other_items(changes: ItemChanges) -> Iterator[Deviation]:
    """Items that were added, changed or removed after the plan."""
    if changes.added or changes.changed or changes.removed:
        parts = {
            "added": changes.added,
            "changed": changes.changed,
            "removed": changes.removed,
        }
        new = [*changes.added, *changes.changed]
        few = 0 < len(new) <= _MANY_ITEMS and not changes.removed
        yield Deviation(
            "items",
            "Items",
            changes.planned,
            "; ".join(f"{len(keys):,} {how}: {_some(keys)}" for how, keys in parts.items() if keys),
            *changes.when,
            undone={"without_items": new} if few else {},
            why_not="" if few else "removed items have no answers, or too many items changed",
        )


def _deleted(study: Study, plan: FrozenPlan) -> Iterator[Deviation]:
    """Answers that were deleted with a person's data; who it was is not stored."""
    frozen = datetime.fromisoformat(plan.frozen_at)
    rows = list(RemovedPerson.objects.filter(study=study, created_at__gt=frozen).order_by("pk"))
    if not rows:
        return
    n = sum(row.own_answers for row in rows)
    people = "1 person" if len(rows) == 1 else f"{len(rows):,} people"
    yield Deviation(
        "deleted",
        "Deleted answers",
        "All answers count",
        f"{n:,} {'answer' if n == 1 else 'answers'} of {people} deleted at their request",
        _days([row.created_at for row in rows]),
        why_not="the answers no longer exist",
    )


def _design(study: Study, plan: FrozenPlan, changes: ItemChanges) -> Iterator[Deviation]:
    for key, departure in design_departures(study, plan, changes.n):
        what = departure.what[0].upper() + departure.what[1:]
        yield Deviation(
            f"design-{key}",
            what,
            departure.planned,
            departure.done,
            departure.on,
            departure.by,
            why_not=_COLLECTED,
        )


def _runs(study: Study, plan: FrozenPlan) -> Iterator[Deviation]:
    """Planned runs that are missing or had other words, and runs that the plan does not name."""
    wanted = list(plan.content["judges"])
    prompts = plan.content.get("sealed", {}).get("prompts", [])
    rows = JudgeRun.objects.filter(study=study, probe_first=False, bias_probe="")
    rows = rows.select_related("judge", "wording").order_by("created_at", "pk")
    done = [(run, _planned_as(run)) for run in rows.filter(in_report=True)]
    left_out = [(run, _planned_as(run)) for run in rows.filter(in_report=False)]
    begun = begun_of(study, plan)
    for place, planned in enumerate(wanted):
        same = [run for run, entry in done if entry == planned]
        name = _run_words(planned)
        unused = [run.public_id for run, entry in left_out if entry == planned]
        if not same and unused:
            log = study.log.filter(event=JudgeRun.LEFT_OUT, detail__run__in=unused)
            yield Deviation(
                f"run-left-out-{place}",
                "Judge run",
                name,
                "Run, but left out of the report",
                *_when(log),
                why_not="no report reads it; let reports use it again to see its effect",
            )
        elif not same:
            yield Deviation(
                f"run-missing-{place}", "Judge run", name, "Not run", why_not="it has no judgments"
            )
        for run in same:
            other = prompts and run.prompt_hash and run.prompt_hash != prompts[place]
            if other:
                yield Deviation(
                    f"run-words-{run.key[:12]}",
                    f"Prompt of {name}",
                    f"Words {prompts[place][:12]}…",
                    f"Words {run.prompt_hash[:12]}…",
                    *begun.get(run.key, (f"{run.created_at:%Y-%m-%d}", "")),
                    undone={"without_runs": [run.key]},
                )
    for run, entry in done:
        if entry not in wanted:
            yield Deviation(
                f"run-more-{run.key[:12]}",
                "Judge run",
                "Not planned",
                _run_words(entry),
                *begun.get(run.key, (f"{run.created_at:%Y-%m-%d}", "")),
                undone={"without_runs": [run.key]},
            )


def _planned_as(run: JudgeRun) -> dict[str, str]:
    """The plan's entry for a run, as `analysis.report.registration.planned_as`."""
    entry = {"judge": run.judge.name, "setting": run.setting, "features": run.features}
    if run.wording:
        entry |= {"wording": run.wording.reference, "wording_sha256": run.wording.sha256}
    if run.framing != USUAL_FRAMING:
        entry["framing"] = run.framing
    return entry


def _run_words(entry: Mapping[str, str]) -> str:
    parts = [entry[key] for key in ("setting", "features", "wording", "framing") if key in entry]
    return f"{entry['judge']} ({', '.join(parts)})"


def _reports(study: Study, plan: FrozenPlan) -> Iterator[Deviation]:
    """Own reports that were built with another threshold, seed or number of resamples."""
    labels = {
        "threshold": "High-certainty threshold",
        "seed": "Seed",
        "bootstrap": "Resamples",
    }
    built = Report.own.filter(study=study, state=Report.State.DONE).select_related("requested_by")
    for name, label in labels.items():
        for value in dict.fromkeys(built.order_by("number").values_list(name, flat=True)):
            if value == plan.content[name]:
                continue
            with_it = built.filter(**{name: value}).order_by("number")
            numbers = ", ".join(f"v{report.number}" for report in with_it)
            yield Deviation(
                f"report-{name}-{value}",
                label,
                f"{plan.content[name]}",
                f"{value} in report {numbers}",
                _days([report.created_at for report in with_it]),
                _names(
                    report.requested_by.get_username() if report.requested_by else ""
                    for report in with_it
                ),
                why_not="the report itself shows it: compare it with another"
                if name == "threshold"
                else "it changes only how resamples are drawn",
            )


def _views(study: Study) -> Iterator[Deviation]:
    """Other views that were built: each reads the data in a way that nobody planned."""
    built = Report.objects.filter(study=study, state=Report.State.DONE).exclude(view={})
    views = list(built.order_by("number").select_related("requested_by"))
    if views:
        named = (f"v{view.number} {view.view.get('name', '')}".strip() for view in views)
        yield Deviation(
            "views",
            "Analyses",
            "The study’s own report",
            f"{len(views):,} other {'view' if len(views) == 1 else 'views'}: {'; '.join(named)}",
            _days([view.created_at for view in views]),
            _names(view.requested_by.get_username() if view.requested_by else "" for view in views),
            why_not="each of them shows its results next to those of the study’s own report",
        )


def _settings(study: Study, plan: FrozenPlan) -> Iterator[Deviation]:
    """Other settings that changed after the plan: the first and the last value of each."""
    rows = list(_since(study, plan).filter(event=SETTINGS_CHANGED).select_related("user"))
    fields = dict.fromkeys(name for row in rows for name in row.detail.get("before", ()))
    for name in fields:
        own = [row for row in rows if name in row.detail.get("before", ())]
        before, after = own[0].detail["before"][name], own[-1].detail["after"][name]
        if name not in _ELSEWHERE and before != after:
            label = name.replace("_", " ").capitalize()
            yield Deviation(
                f"setting-{name}",
                label,
                _short(before),
                _short(after),
                _days([row.created_at for row in own]),
                _names(row.user.get_username() if row.user else "" for row in own),
                why_not=_COLLECTED,
            )


def _consent(study: Study, plan: FrozenPlan) -> Iterator[Deviation]:
    amended = _since(study, plan).filter(event=AMENDED)
    for row in amended.select_related("user"):
        asked = row.detail["asked_again"]
        yield Deviation(
            f"consent-{row.detail['version'][:12]}",
            "Consent",
            f"Version {row.detail['before'][:12]}…",
            f"Version {row.detail['version'][:12]}…, "
            + (f"{asked:,} asked again" if asked else "nobody asked again"),
            f"{row.created_at:%Y-%m-%d}",
            _names([row.user.get_username() if row.user else ""]),
            (row.detail["reason"],),
            why_not=_COLLECTED,
        )


def _since(study: Study, plan: FrozenPlan) -> QuerySet[StudyLog]:
    frozen = datetime.fromisoformat(plan.frozen_at)
    rows = StudyLog.objects.filter(study=study, created_at__gt=frozen)
    return rows.order_by("created_at", "pk")


def _when(log: QuerySet[StudyLog]) -> tuple[str, str]:
    rows = list(log.order_by("created_at", "pk").select_related("user"))
    names = (row.user.get_username() if row.user else "" for row in rows)
    return _days([row.created_at for row in rows]), _names(names)


def _days(moments: list[datetime]) -> str:
    return ", ".join(dict.fromkeys(f"{moment:%Y-%m-%d}" for moment in moments))


def _names(users: Any) -> str:
    return ", ".join(dict.fromkeys(user or "a command" for user in users))


def _some(keys: Any) -> str:
    names = sorted(keys)
    return ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")


def _short(value: Any) -> str:
    text = " ".join(str(value).split()) if value not in ("", None) else "nothing"
    return text if len(text) <= 80 else f"{text[:79]}…"


def effect_words(side: Mapping[str, Any]) -> str:
    """A main result with or without a deviation, in words."""
    if "state" in side:
        return str(side["state"]).replace("_", " ")
    if side["accuracy"] is None:
        return "no result"
    return share_of(side["accuracy"], side["n"], "item")
