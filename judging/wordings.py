"""A study's wordings: checks, versions, comparison and display."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import SequenceMatcher
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from judging.engine.messages import as_text
from judging.errors import FailureReason, InvalidValue
from judging.models import PromptTemplate
from judging.prompts.asking import Asking
from judging.protocols.framings import OBSERVER, framing
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.registry import protocol
from studies.extra import Kind
from studies.models import Item, Side, Study
from studies.prompts import PROMPT_LANGUAGE, base_of, prompt_languages
from studies.services.studies import check_seen, lock_study, record
from studies.texts.normalisation import digest
from studies.texts.slots import Slots, names_in, steps_of

MOST_LETTERS = 20_000
SLOTS: dict[str, str] = {
    "persona": "the profile of the person, as annotators see it",
    "question": "the item’s question with the heading [Question]; empty if it has none",
    "question_text": "the question without a heading",
    "context": "the item’s context with its heading; empty if it has none",
    "context_text": "the context without a heading",
    "response_a": "the response that is shown as A",
    "response_b": "the response that is shown as B",
    "ask": "the question of the task, in the words that annotators read",
    "bands": "what the certainty numbers mean, one band per line",
    "criteria": "the criteria of the study, one per line",
    "examples": "other answers of the same person, if a run shows some",
    "others": "what other judges wrote, for a setting that continues from their replies",
    "options": "all responses, each with its letter, for settings that show more than two",
    "reference": "the item’s reference answer, for settings that show it; empty for others",
    "advice": "what is shown after the first answer, if the item has advice",
}
_SLOT_LIKE = re.compile(r"\{\{([^{}\n]*)\}\}")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True)
class Checked:
    """`problems` prevent a wording from being stored; `remarks` do not."""

    problems: tuple[str, ...]
    remarks: tuple[str, ...]


def check_template(
    template: str, *, protocol: JudgingProtocol, shows_persona: bool, has: Sequence[str] = ()
) -> Checked:
    """Check one template. `has` names the slots that some item of the study fills."""
    problems: list[str] = []
    if len(template) > MOST_LETTERS:
        problems.append(f"The text has {len(template):,} characters. Use at most {MOST_LETTERS:,}.")
    if _UNSTORABLE.search(template):
        problems.append("The text contains a character that cannot be stored. Type it again.")
    problems += _slot_problems("\n".join(steps_of(template)))
    if (steps := len(steps_of(template))) != protocol.steps:
        problems.append(
            f"The text has {steps} message{'s' * (steps > 1)}, and “{protocol.name}” asks "
            f"{protocol.steps}. Write “{{{{ then }}}}” on a line of its own, between empty lines, "
            "where the next message begins, and nowhere else."
        )
    used = names_in(template)
    for name in protocol.shows:
        if name not in used:
            is_one = name in ("response_a", "response_b")
            what = f"response {name[-1].upper()}" if is_one else "the responses"
            problems.append(f"{{{{ {name} }}}} is missing: the judge would not see {what}.")
    if shows_persona and "persona" not in used:
        problems.append(
            "{{ persona }} is missing: the judge would not see the profile. Write this text in the "
            "field for judges without the profile."
        )
    if not shows_persona and "persona" in used:
        problems.append(
            "{{ persona }} is in the text for judges that see nothing of the person. Remove it."
        )
    if protocol.needs_criteria and "criteria" not in used:
        problems.append(f"{{{{ criteria }}}} is missing: “{protocol.name}” asks about criteria.")
    problems += [
        f"{{{{ {name} }}}} is missing: “{protocol.name}” {why}."
        for name, why in protocol.needs_slots.items()
        if name not in used
    ]
    return Checked(tuple(problems), tuple(_remarks(used, protocol, has)))


def _slot_problems(template: str) -> list[str]:
    known = [field.name for field in fields(Slots)]
    problems = []
    for match in dict.fromkeys(_SLOT_LIKE.findall(template)):
        name = match.strip()
        if name in known:
            if match != f" {name} ":
                problems.append(
                    f"“{{{{{match}}}}}”: write it with single spaces, {{{{ {name} }}}}."
                )
            continue
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
        hint = (
            f"Did you mean {{{{ {close[0]} }}}}?" if close else f"Use one of: {', '.join(known)}."
        )
        problems.append(f"There is no slot “{name}”. {hint}")
    rest = _SLOT_LIKE.sub("", template)
    if "{{" in rest or "}}" in rest:
        problems.append("A slot is not closed. Put “{{” and “}}” on one line, as in {{ persona }}.")
    return problems


def _remarks(used: Sequence[str], protocol: JudgingProtocol, has: Sequence[str]) -> list[str]:
    remarks = [
        f"Items have a {name}, which annotators see and this judge does not: {{{{ {name} }}}} is "
        "not in the text."
        for name in ("question", "context")
        if name in has and name not in used and f"{name}_text" not in used
    ]
    if "bands" in used and not protocol.asks_certainty:
        remarks.append(
            f"{{{{ bands }}}} explains certainties, which “{protocol.name}” does not ask for."
        )
    return remarks


_NAME = FailureReason("name", "{field}: use 1 to 60 characters, without “@” and line breaks.")
_NO_TEXT = FailureReason(
    "no_text", "{field} is missing. Write a text, or {names[template_without_persona]}."
)
_PROBLEM = FailureReason("problem", "{field}: {problem}")
_IN_USE = FailureReason("in_use", "{field} “{value}” is used by a run, so it cannot be deleted.")


@dataclass(frozen=True)
class WordingSource:
    """Where an extra finds wordings: a page, by its title and the name of its view.

    The `option` of `import_wording` does the same with a file of that kind: `read` gets the id of
    the study, the file and a name, which may be empty, and returns what to say.
    """

    name: str
    title: str
    view: str
    option: str
    help: str
    read: Callable[..., object]


MORE: Kind[WordingSource] = Kind("importers", "wordings")


@transaction.atomic
def save_wording(
    *,
    study_id: int,
    name: str,
    setting: str,
    template: str = "",
    template_without_persona: str = "",
    note: str = "",
    source: str = PromptTemplate.Source.WRITTEN,
    exact_texts: Mapping[str, Any] | None = None,
    seen: str | None = None,
    user: User | None = None,
) -> PromptTemplate:
    """Store a wording as the newest version of its name, and return it.

    The newest version is replaced as long as no run uses it; the same content again changes
    nothing. Raises `InvalidValue` with the field at fault, and `StaleVersion` if the version to
    replace does not have the hash `seen`.
    """
    study = lock_study(study_id)
    name = name.strip()
    check_name(name)
    checked = checked_texts(study, setting, template, template_without_persona)
    for field, check in checked.items():
        if check.problems:
            raise InvalidValue(field, _PROBLEM, problem=" ".join(check.problems))
    texts = dict(exact_texts or {})
    sha256 = digest([setting, template, template_without_persona, texts])
    newest = newest_wording(study, name)
    if newest is not None and newest.sha256 == sha256:
        return newest
    if newest is not None and not is_used(newest):
        check_seen(study, seen, newest.sha256, what=f"the wording “{name}”")
        stored, event = newest, "wording changed"
    else:
        version = newest.version + 1 if newest else 1
        stored = PromptTemplate(study=study, name=name, version=version)
        event = "wording added"
    stored.setting, stored.source, stored.note, stored.sha256 = setting, source, note, sha256
    stored.template, stored.template_without_persona = template, template_without_persona
    stored.exact_texts = texts
    stored.save()
    record(study, event, user=user, wording=stored.reference, sha256=sha256)
    return stored


def newest_wording(study: Study, name: str) -> PromptTemplate | None:
    return PromptTemplate.objects.filter(study=study, name=name).order_by("version").last()


def check_name(name: str) -> None:
    """Raise `InvalidValue` if a wording cannot have this name."""
    if not 1 <= len(name) <= 60 or "@" in name or not name.isprintable():
        raise InvalidValue("name", _NAME)


def checked_texts(
    study: Study, setting: str, template: str, template_without_persona: str
) -> dict[str, Checked]:
    """The problems of each text of a wording, by field. Raises `InvalidValue` without a text."""
    asked = protocol(setting)
    fields = {"template": template, "template_without_persona": template_without_persona}
    if not any(text.strip() for text in fields.values()):
        raise InvalidValue("template", _NO_TEXT)
    has = filled_slots(study)
    return {
        field: check_template(text, protocol=asked, shows_persona=field == "template", has=has)
        for field, text in fields.items()
        if text
    }


def filled_slots(study: Study) -> list[str]:
    """Whether some item of the study has a question, and a context."""
    items = Item.objects.filter(study=study)
    return [name for name in ("question", "context") if items.exclude(**{name: ""}).exists()]


def is_used(wording: PromptTemplate) -> bool:
    return wording.frozen_at is not None or wording.runs.exists()


@transaction.atomic
def delete_wording(*, wording: PromptTemplate, user: User) -> None:
    """Delete a version that no run uses. Raises `InvalidValue` for one that is used."""
    study = lock_study(wording.study_id)
    if is_used(PromptTemplate.objects.get(pk=wording.pk)):
        raise InvalidValue("wording", _IN_USE, value=wording)
    record(study, "wording deleted", user=user, wording=wording.reference, sha256=wording.sha256)
    wording.delete()


def copy_wordings(study: Study, copy: Study) -> None:
    """Add a study's wordings to a copy of it, where no run has used them yet."""
    kept = ("name", "version", "setting", "template", "template_without_persona", "note")
    PromptTemplate.objects.bulk_create(
        PromptTemplate(
            study=copy,
            source=wording.source,
            exact_texts=wording.exact_texts,
            sha256=wording.sha256,
            **{field: getattr(wording, field) for field in kept},
        )
        for wording in PromptTemplate.objects.filter(study=study)
    )


@dataclass(frozen=True)
class DiffLine:
    """A line in a comparison of two texts: `kind` is "same", "added" or "removed"."""

    kind: str
    text: str


def compare(old: str, new: str) -> list[DiffLine]:
    """All lines of both texts in reading order."""
    before, after = old.split("\n"), new.split("\n")
    lines: list[DiffLine] = []
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            lines += [DiffLine("same", line) for line in before[a:b]]
            continue
        lines += [DiffLine("removed", line) for line in before[a:b]]
        lines += [DiffLine("added", line) for line in after[c:d]]
    return lines


ITEMS = 3


@dataclass(frozen=True)
class ExamplePrompt:
    """A prompt with response 1 as A; `number` is the item's place among the annotators' items."""

    number: int
    item: Item
    prompt: str


def example_prompts(wording: PromptTemplate) -> list[ExamplePrompt]:
    """The prompts of the first items, to a judge that sees the persona if the wording shows it."""
    language = base_of(wording.study.language)
    asking = Asking(
        study=wording.study,
        protocol=protocol(wording.setting),
        features=None if wording.template else [],
        framing=framing(OBSERVER),
        language=language if language in prompt_languages() else PROMPT_LANGUAGE,
        template=wording,
    )
    items = Item.objects.filter(study=wording.study).select_related("persona").order_by("key")
    return [
        ExamplePrompt(number, item, as_text(asking.messages(item, shown_first=Side.R1)))
        for number, item in enumerate(items[:ITEMS], start=1)
    ]
