"""The items as the audit reads them, and facts of their study."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max

from judging.models import JudgeRun, Judgment
from studies.models import Item, Persona, Study
from studies.services.items import ExpectedTime, expected_time
from studies.services.settings import SETTINGS_CHANGED

_ITEMS_PER_READ = 500
_EDITS = ("item edited", "persona edited", SETTINGS_CHANGED)


@dataclass(frozen=True)
class AuditedPersona:
    """A persona: its number in the study, and its texts as (feature key, sentence)."""

    number: int
    features: tuple[tuple[str, str], ...]
    text: str
    history: tuple[str, ...]


@dataclass(frozen=True)
class AuditedItem:
    """An item; `responses` and `sources` are for r1 and r2, `label` is the persona's own answer.

    `is_fixed` means that people and models always see the same response first.
    """

    key: str
    persona: AuditedPersona
    topic: str
    context: str
    question: str
    prompts: tuple[str, str]
    responses: tuple[str, str]
    sources: tuple[str, str]
    label: str
    is_fixed: bool

    @property
    def own(self) -> int | None:
        """The position of the own answer in `responses`; None without one or for a tie."""
        return {"r1": 0, "r2": 1}.get(self.label)


@dataclass(frozen=True)
class SameWithout:
    """Whether a judge chose the same with and without the persona, by item key."""

    judge: str
    same: Mapping[str, bool]


@dataclass(frozen=True)
class SidesChosen:
    """How often a run chose the response shown first, by the items' personas."""

    judge: str
    first: tuple[bool, ...]
    personas: tuple[int, ...]


@dataclass(frozen=True)
class AuditedStudy:
    """Facts about the study that checks need in addition to items; `margin` is a share.

    `minutes` is the duration in the settings, `expected` None if no item is for annotators.
    """

    items: int
    licence: str
    redistribution: str
    margin: float
    minutes: int = 20
    expected: ExpectedTime | None = None
    without_persona: SameWithout | None = None
    sides: tuple[SidesChosen, ...] = ()


def audited_study(study: Study) -> AuditedStudy:
    source = study.source or {}
    return AuditedStudy(
        items=Item.objects.filter(study=study).count(),
        licence=str(source.get("licence") or ""),
        redistribution=str(source.get("redistribution") or "unknown"),
        margin=study.equivalence_margin,
        minutes=study.minutes,
        expected=expected_time(study),
        without_persona=_without_persona(study),
        sides=tuple(_sides(study)),
    )


def audited_items(study: Study) -> Iterator[AuditedItem]:
    """The items that count, by key."""
    personas = {
        pk: AuditedPersona(
            number,
            tuple((one.get("key", ""), one.get("text") or "") for one in features),
            text,
            tuple(str(entry.get("chosen", "")) for entry in history),
        )
        for number, (pk, features, text, history) in enumerate(
            Persona.objects.filter(study=study)
            .order_by("key")
            .values_list("pk", "features", "text", "history")
        )
    }
    fields = (
        *("key", "persona_id", "topic", "context", "question", "r1", "r2", "first_person"),
        *("shuffle_sides", "fixed_first"),
    )
    after = ""
    # Each part is read completely: an open cursor blocks writes on SQLite.
    while rows := list(
        Item.objects.filter(study=study, key__gt=after)
        .order_by("key")
        .values_list(*fields)[:_ITEMS_PER_READ]
    ):
        after = rows[-1][0]
        for key, persona, topic, context, question, r1, r2, label, shuffles, first in rows:
            yield AuditedItem(
                key=key,
                persona=personas[persona],
                topic=topic,
                context=context,
                question=question,
                prompts=(r1.get("prompt") or "", r2.get("prompt") or ""),
                responses=(_shown(r1), _shown(r2)),
                sources=(_source(r1), _source(r2)),
                label=label,
                is_fixed=bool(first) or not shuffles,
            )


def _shown(response: Mapping[str, Any]) -> str:
    """The text of a response, with a name by content for each picture or sound."""
    files = (f"[{file['type']} {file['sha256'][:16]}]" for file in response.get("media", ()))
    return "\n".join(filter(None, (response.get("text"), *files)))


def _source(response: Mapping[str, Any]) -> str:
    writer = response.get("generated_by") or {}
    return str(writer.get("name") or "")


def _sides(study: Study) -> Iterator[SidesChosen]:
    """The first run with a choice of each judge in the study."""
    runs = study.judge_runs.filter(bias_probe="", probe_first=False).select_related("judge")
    seen: set[int] = set()
    for run in runs.order_by("features", "pk"):
        if run.judge_id in seen:
            continue
        rows = list(
            Judgment.objects.filter(run=run, choice__in=("r1", "r2"), sample=1)
            .exclude(shown_first="")
            .order_by("pk")
            .values_list("item__persona_id", "choice", "shown_first")
        )
        if rows:
            seen.add(run.judge_id)
            first = tuple(choice == shown_first for _, choice, shown_first in rows)
            yield SidesChosen(run.judge.name, first, tuple(persona for persona, _, _ in rows))


def _without_persona(study: Study) -> SameWithout | None:
    """Compare a judge's choices with all features and with none; None without both runs."""
    runs = study.judge_runs.filter(bias_probe="", probe_first=False, features__in=("all", "none"))
    pairs: dict[tuple[int, str], dict[str, JudgeRun]] = {}
    for run in runs.select_related("judge").order_by("pk"):
        pairs.setdefault((run.judge_id, run.setting), {})[run.features] = run
    for pair in pairs.values():
        if len(pair) < 2:
            continue
        chosen = {
            name: dict(
                Judgment.objects.filter(run=run, choice__in=("r1", "r2"), sample=1)
                .order_by("item__key", "shown_first")
                .values_list("item__key", "choice")
            )
            for name, run in pair.items()
        }
        both = sorted(chosen["all"].keys() & chosen["none"].keys())
        if both:
            same = {key: chosen["all"][key] == chosen["none"][key] for key in both}
            return SameWithout(pair["all"].judge.name, same)
    return None


def audit_fingerprint(study: Study) -> str:
    """A hash that changes with the items, their settings, and the runs compared by the audit."""
    items = Item.objects.filter(study=study).aggregate(n=Count("pk"), last=Max("pk"))
    edits = study.log.filter(event__in=_EDITS).aggregate(last=Max("pk"))
    runs = list(
        study.judge_runs.filter(bias_probe="", features__in=("all", "none"))
        .order_by("pk")
        .values_list("pk", "state")
    )
    return hashlib.sha256(
        repr((items, edits, study.content_hash, study.source, runs)).encode()
    ).hexdigest()
