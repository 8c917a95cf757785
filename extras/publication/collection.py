"""Facts for a data card: how annotators and models were asked, and numbers of answers."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import unescape
from typing import TYPE_CHECKING, Any

import nh3
from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.utils import translation

from annotation.content.consent_versions import agreed_versions
from annotation.content.texts import ConsentText, consent_text, instructions_text
from annotation.models import Annotation, Annotator, ComprehensionQuestion, QuotaGroup
from annotation.services.other_platforms import PLATFORMS
from judging.models import JudgeRun, Judgment
from judging.prompts.asking import stored_words, tasks_of
from judging.runs.request_conditions import Reported, conditions_of
from studies.importers.sets import data_sets
from studies.importers.sets.data_set import as_text
from studies.models import Item, Study
from studies.selectors import item_languages

if TYPE_CHECKING:
    from analysis.data.arrays import Exclusion


@dataclass(frozen=True)
class RunFacts:
    """A run as a data card describes it."""

    judge: str
    model: str
    snapshots: tuple[str, ...]
    backend: str
    is_imported: bool
    setting: str
    features: str
    orders: str
    samples: int
    temperature: float | None
    top_p: float | None
    prompt_language: str
    days: str
    judgments: int
    replies: int
    failed: dict[str, int]
    words_kept: bool  # whether the words that it was asked with are stored
    drift: tuple[str, ...]  # sentences on versions of the model


@dataclass(frozen=True)
class AgreedText:
    """A text that people agreed to, with its checkboxes and promises.

    `version` and `days` are empty for a text that nobody has agreed to yet; `text` is empty if only
    its hash was stored.
    """

    version: str
    people: str
    days: str
    text: str
    boxes: tuple[str, ...]
    terms: Mapping[str, Any]


@dataclass(frozen=True)
class Collection:
    """How a study collected its data, without names of annotators.

    `people` and `standings` are counts by state and by standing, `quota` has each group's places
    and participants, `days` the first and last day of answers, `readings` how items were read from
    files.
    """

    people: dict[str, int]
    has_participants: bool
    imported: int  # people whose answers came from files
    standings: dict[str, int]
    exclusions: tuple["Exclusion", ...]
    quota: list[tuple[str, int, str]]
    attention_checks: int
    comprehension_questions: int
    agreed: tuple[AgreedText, ...]
    instructions: str
    item_languages: tuple[str, ...]
    runs: tuple[RunFacts, ...]
    days: str
    certainties: int  # answers that state one
    readings: tuple[dict[str, Any], ...]
    platforms: Mapping[str, int] = field(default_factory=dict)  # other platforms, with their people


def collection_of(study: Study, *, k: int) -> Collection:
    """Read a study's facts in about twelve queries, without naming groups of fewer than `k`."""
    # Imported here because it loads NumPy, and every process imports this module.
    from analysis.data.raters import exclusions_of

    answers = Annotation.objects.filter(
        assignment__annotator__study=study, assignment__item__split=Item.Split.MAIN
    )
    times = answers.aggregate(
        first=Min("answered_at"), last=Max("answered_at"), certain=Count("certainty")
    )
    own = Annotator.objects.filter(study=study)
    checks = Item.everything.filter(study=study, split=Item.Split.ATTENTION_CHECK)
    with translation.override(study.page_language):
        today, instructions = consent_text(study), _plain(instructions_text(study))
    return Collection(
        people=dict(own.values_list("state").annotate(n=Count("pk")).order_by("state")),
        has_participants=own.filter(is_imported=False).exists(),
        imported=own.filter(is_imported=True).count(),
        standings=dict(
            answers.values_list("standing").annotate(n=Count("pk")).order_by("standing")
        ),
        exclusions=exclusions_of(study),
        quota=[_group(group, k) for group in QuotaGroup.objects.filter(study=study)],
        attention_checks=checks.count(),
        comprehension_questions=ComprehensionQuestion.objects.filter(study=study).count(),
        agreed=tuple(_agreed(study, k)) or (_as_today(today),),
        instructions=instructions,
        item_languages=tuple(item_languages(study)),
        runs=tuple(_runs(study)),
        days=_between(times["first"], times["last"]),
        certainties=times["certain"],
        readings=_readings(study),
        platforms={
            name: n for sent in PLATFORMS.of(study) for name, n in sent.people(study).items()
        },
    )


def _agreed(study: Study, k: int) -> Iterator[AgreedText]:
    for version in agreed_versions(study):
        kept = version.text
        yield AgreedText(
            version=version.version,
            people=f"{version.people:,}" if version.people >= k else f"under {k}",
            days=_between(version.first, version.last),
            text=_plain(kept.html) if kept else "",
            boxes=tuple(kept.statements) if kept else (),
            terms=kept.terms if kept else {},
        )


def _as_today(text: ConsentText) -> AgreedText:
    return AgreedText("", "", "", _plain(text.html), text.statements, text.terms)


def _group(group: QuotaGroup, k: int) -> tuple[str, int, str]:
    completed = f"{group.completed}" if group.completed >= k else f"under {k}"
    return str(group), group.target, completed


def _plain(html: str) -> str:
    """The text as Markdown, one line per paragraph: headings in bold, entries with a dash."""
    marked = " ".join(html.split())
    for tag, sign in _MARKS.items():
        marked = marked.replace(tag, sign)
    lines = unescape(nh3.clean(marked, tags=set())).splitlines()
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


_MARKS = {
    "<h2>": "\n**",
    "</h2>": "**\n",
    "<p>": "\n",
    "</p>": "\n",
    "<li>": "\n- ",
    "</li>": "\n",
    "<dt>": "\n",
    "</dt>": ":",
    "</dd>": "\n",
}


def _runs(study: Study) -> Iterator[RunFacts]:
    asked = Judgment.objects.filter(run__study=study, item__split=Item.Split.MAIN)
    failed = ("unparseable", "refused", "skipped", "error")
    counted: QuerySet[Judgment, Any] = (
        asked.exclude(state__in=Judgment.OPEN)
        .values("run")
        .annotate(
            judgments=Count("pk"),
            replies=Sum("replies"),
            first=Min("answered_at"),
            last=Max("answered_at"),
            **{state: Count("pk", filter=Q(state=state)) for state in failed},
        )
        .order_by()
    )
    counts = {row["run"]: row for row in counted}
    snapshots: dict[int, list[str]] = {}
    reported = asked.values_list("run", "model_snapshot").distinct()
    for run_id, snapshot in reported.order_by("model_snapshot"):
        snapshots.setdefault(run_id, []).append(snapshot)
    asked_runs = JudgeRun.objects.filter(pk__in=counts)
    asked_runs = asked_runs.select_related("judge", "study", "wording")
    runs = list(asked_runs.order_by("judge__name", "setting", "features", "key"))
    conditions, tasks = conditions_of(runs), tasks_of(study)
    for run in runs:
        count = counts[run.pk]
        versions = _versions_in_words(conditions[run.pk].reported)
        yield RunFacts(
            judge=run.judge.name,
            model=run.parameters.get("model") or run.judge.model,
            snapshots=tuple(filter(None, snapshots[run.pk])),
            backend=run.judge.get_backend_display(),
            is_imported=run.is_imported,
            setting=run.setting,
            features=f"{run.features}; probe {run.bias_probe}" if run.bias_probe else run.features,
            orders=run.get_orders_display(),
            samples=run.samples,
            temperature=run.parameters.get("temperature"),
            top_p=run.parameters.get("top_p"),
            prompt_language="" if run.is_imported else run.prompt_language,
            words_kept=run.is_imported or not run.prompt_hash or bool(stored_words(run, tasks)),
            days=_between(count["first"], count["last"]),
            judgments=count["judgments"],
            replies=count["replies"] or 0,
            failed={state: count[state] for state in failed if count[state]},
            drift=tuple(versions),
        )


def _between(first: datetime | None, last: datetime | None) -> str:
    """The days of the first and the last answer; empty if no time is known."""
    if first is None or last is None:
        return ""
    days = sorted({first.date().isoformat(), last.date().isoformat()})
    return " to ".join(days)


def _readings(study: Study) -> tuple[dict[str, Any], ...]:
    """How the items were read, in order."""
    entries = study.log.filter(event="items imported").order_by("created_at", "pk")
    return tuple(reading for entry in entries for reading in entry.detail.get("read", []))


def _versions_in_words(versions: Sequence[Reported]) -> Iterator[str]:
    """Sentences on each version with the number and times of its answers, if there are several."""
    for version in versions if len(versions) > 1 else ():
        times = " to ".join(filter(None, version.minutes))
        yield (
            f"{version.model or 'No name'}, fingerprint {version.fingerprint or 'none'}: "
            f"{version.judgments:,} answers{f', {times}' if times else ''}."
        )


_HOW = ("files", "format", "task", "options", "seed", "limit", "mapping")


def rebuild_commands(slug: str, readings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Commands that read a study's items again; the last one compares them with the list.

    `readings` are the log entries of the study's imports. Files in the neutral format are read
    together if there is nothing else; a data set is read with every option and its seed.
    """
    neutral = [reading for reading in readings if not _has_own_command(reading)]
    hows: list[dict[str, Any]] = []
    if neutral:
        files = dict.fromkeys(name for reading in neutral for name in reading["files"])
        limit = neutral[0]["limit"] if len(neutral) == 1 else None
        hows.append({"files": list(files), "task": neutral[0]["task"], "limit": limit})
    for reading in readings:
        how = {name: reading[name] for name in _HOW if name in reading}
        if _has_own_command(reading) and how not in hows:
            hows.append(how)
    return [_command(slug, how, is_last=how is hows[-1]) for how in hows]


def _has_own_command(reading: Mapping[str, Any]) -> bool:
    """Whether other files cannot be read by the same command."""
    return reading["format"] in data_sets() or "mapping" in reading or bool(reading.get("options"))


def _command(slug: str, how: Mapping[str, Any], *, is_last: bool) -> str:
    words = ["manage.py", "import_items", slug, *how["files"], "--create", "--task", how["task"]]
    if "mapping" in how:
        words += ["--mapping", json.dumps(how["mapping"], ensure_ascii=False)]
    elif "format" in how:
        words += ["--format", how["format"]]
        for name, value in how["options"].items():
            words += ["--option", f"{name}={as_text(value)}"]
        words += ["--seed", str(how["seed"])]
    if how["limit"]:
        words += ["--limit", str(how["limit"])]
    return shlex.join([*words, "--like", "jsonl/items.jsonl"] if is_last else words)
