"""Texts that annotators read: standard wording, a study's own texts, ready-made texts.

A placeholder in double square brackets says what to fill in, for example [[name of the ethics
board]]. A study cannot be launched while a text has one. Each language has a file in `ready_texts`.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.template.loader import render_to_string
from django.utils import translation
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from annotation.seats.assignment import items_shown
from studies.models import Item, Study, Task
from studies.models.added_settings import consent_sentences
from studies.money import format_money
from studies.prompts import BANDS, Band, Wording, base_of, own_bands, wording_in
from studies.texts.languages import isolated
from studies.texts.markdown import render_markdown
from studies.texts.normalisation import digest

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise


# The page translates the wording of the prompt files. gettext collects only from Python and
# templates, so the words are repeated here; a test compares them with the files.
FOR_TRANSLATORS = (
    gettext_noop("Which response would this person prefer?"),
    gettext_noop("Which answer would this person give?"),
    gettext_noop("Which response did this person write?"),
    gettext_noop("Which answer did this person write?"),
    gettext_noop("Uncertain"),
    gettext_noop("Moderately Confident"),
    gettext_noop("Quite Confident"),
    gettext_noop("Confident"),
    gettext_noop("Highly Confident"),
    gettext_noop(
        "Close to a guess. What you know about this person says little about your choice."
    ),
    gettext_noop("A hint or two point to your choice, but the other one could easily be right."),
    gettext_noop("Several things point to your choice, but there is real room for doubt."),
    gettext_noop(
        "Most of what you know points to your choice. You would be surprised to be wrong."
    ),
    gettext_noop(
        "What you know about this person all but settles it. "
        "You can hardly imagine the other choice."
    ),
)

# The wording for people who answer for themselves.
OWN_FOR_TRANSLATORS = (
    gettext_noop("Which response do you prefer?"),
    gettext_noop("Which answer would you give?"),
    gettext_noop("Close to a guess. You could as well have chosen the other one."),
    gettext_noop("You lean to your choice, but the other one could easily be yours too."),
    gettext_noop("You prefer your choice, but there is real room for doubt."),
    gettext_noop("You would be surprised to choose the other one on another day."),
    gettext_noop("You can hardly imagine that you would ever choose the other one."),
)

# Shown below the question if a whole set of responses is ranked.
PLACES = gettext_noop(
    "Give every response its own place: 1st for your answer to this question, 2nd for the "
    "response that comes next, and so on."
)


def setting_of(study: Study) -> str:
    """The prompt setting whose wording annotators see."""
    if study.allow_tie:
        return "tie"
    return "certainty" if study.ask_certainty else "standard"


def wording_for(item: Item, study: Study) -> Wording:
    """The wording that annotators see at an item."""
    return wording_in(study, item.task, setting_of(study))


def wording_sha256(item: Item, study: Study, *, ranks: bool) -> str:
    """The hash of the wording at an item; a screen with a whole set has one more sentence."""
    own = wording_for(item, study).sha256
    return digest([own, PLACES]) if ranks else own


def bands_for(*, own_answers: bool) -> tuple[Band, ...]:
    """The levels of certainty that annotators see."""
    return own_bands() if own_answers else BANDS


_BOX = re.compile(r"^[ \t]*[-*] \[ \] *(\S.*)$", re.MULTILINE)


# Settings that can change after the launch: annotators keep what they were promised.
TERMS = (
    "title",
    "reward",
    "currency",
    "minutes",
    "contact",
    "entry",
    "ai_policy",
    "allow_changes",
    "machine_signs",
)


@dataclass(frozen=True)
class ConsentText:
    """The text that an annotator consents to; `version` is stored with the consent.

    To agree, an annotator ticks every one of the `statements`. `terms` are the study's promises.
    """

    html: SafeString
    version: str
    statements: tuple[str, ...]
    terms: Mapping[str, Any]


def consent_parts(text: str) -> tuple[str, tuple[str, ...]]:
    """A consent text without its boxes, and the statement of each box: a line with “- [ ]”."""
    statements = tuple(match[1].strip() for match in _BOX.finditer(text))
    return (_BOX.sub("", text).rstrip() if statements else text), statements


def consent_text(study: Study) -> ConsentText:
    """The study's own consent text or the default one, with the required facts."""
    own, statements = consent_parts(study.consent)
    rendered = render_to_string(
        "annotation/_consent_text.html",
        {
            "study": study,
            "items_shown": items_shown(study),
            "own": render_markdown(own),
            "added": consent_sentences(study),
            "ai_policy": render_markdown(study.ai_policy),
            "pay": isolated(format_money(study.reward, study.currency)),
            "pay_per_hour": isolated(
                format_money(study.reward * 60 / study.minutes, study.currency)
            ),
        },
    )
    terms = {name: getattr(study, name) for name in TERMS}
    html = SafeString(rendered)
    whole = json.dumps([html, statements, terms], ensure_ascii=False, sort_keys=True)
    version = hashlib.sha256(whole.encode()).hexdigest()
    return ConsentText(html, version, statements, terms)


def instructions_text(study: Study) -> SafeString:
    """The text before the examples: the study's own instructions or the default ones."""
    context = {
        "study": study,
        "own": render_markdown(study.instructions),
        "task_question": wording_in(study, study.task, setting_of(study)).question,
    }
    return SafeString(render_to_string("annotation/_instructions_text.html", context))


@dataclass(frozen=True)
class WorkedExample:
    """An item with its answer and the reason, shown in the instructions like a real item."""

    facts: "tuple[StrPromise, ...]"
    question: "StrPromise"
    a: "StrPromise"
    b: "StrPromise"
    chosen: str
    reason: "StrPromise"
    is_guess: bool = False


def _guess(**fields: Any) -> WorkedExample:
    reason = _("Nothing here bears on the question. Choose your best guess.")
    return WorkedExample(reason=reason, is_guess=True, **fields)


_PREFERENCE = (
    WorkedExample(
        facts=(_("The person is 35–44."), _("The person rides a bicycle to work every day.")),
        question=_("What is the best way to get to work across town?"),
        a=_("Take the ring road before seven; at that hour you will be there in 15 minutes."),
        b=_("Follow the river path by bicycle; it is flat, and there are racks at the end."),
        chosen="b",
        reason=_("The person rides to work every day, so the cycle plan fits better."),
    ),
    _guess(
        facts=(_("The person is 55–64."), _("The person is married.")),
        question=_("Could you write me two lines about rain?"),
        a=_("Soft rain on the tin roof plays the song of slow and silver days."),
        b=_("The clouds fell out, the clouds made up, and filled my upturned coffee cup."),
        chosen="a",
    ),
)
_SURVEY_ANSWER = (
    WorkedExample(
        facts=(_("The person is 18–29."), _("The person helps at an animal shelter.")),
        question=_("Should towns spend more on homes for stray animals?"),
        a=_("Yes"),
        b=_("No"),
        chosen="a",
        reason=_("The person volunteers at such a home, so “Yes” fits better."),
    ),
    _guess(
        facts=(_("The person is 45–54."), _("The person works full-time.")),
        question=_("Do you prefer the window seat or the aisle seat?"),
        a=_("The window seat"),
        b=_("The aisle seat"),
        chosen="b",
    ),
)
_AUTHORSHIP = (
    WorkedExample(
        facts=(_("The person is 25–34."), _("The person is a nurse on a night ward.")),
        question=_("What did you think when you read about the flooded hospital?"),
        a=_("I kept thinking of the river, and of how little we learned from the last time."),
        b=_("I thought of the handover at three in the morning, with the lifts out of order."),
        chosen="b",
        reason=_("Night handovers are part of the person’s own work."),
    ),
    _guess(
        facts=(_("The person is 35–44."), _("The person is single.")),
        question=_("What did you think when you read about the lost dog?"),
        a=_("I was glad that the neighbours went out to look for it."),
        b=_("I hoped all the way through that somebody would leave a door open."),
        chosen="a",
    ),
)
_EXAMPLES = {
    Task.PREFERENCE: _PREFERENCE,
    Task.SURVEY_ANSWER: _SURVEY_ANSWER,
    Task.AUTHORSHIP: _AUTHORSHIP,
    Task.QUESTION_ANSWER_AUTHORSHIP: _AUTHORSHIP,
}


def worked_examples(study: Study) -> tuple[WorkedExample, ...]:
    """Two examples for the study's task: the profile decides one and not the other.

    No examples for people who answer for themselves: these could only sway them.
    """
    if study.asks_own_answers:
        return ()
    return _EXAMPLES[Task(study.task)]


TEXTS = ("instructions", "consent", "debrief")
# Every field whose text annotators read.
_READ = (*TEXTS, "ai_policy", "researchers", "storage", "ethics")
_FOLDER = Path(__file__).parent / "ready_texts"
_ENGLISH = "en"
_PLACEHOLDER = re.compile(r"\[\[([^\[\]]+)\]\]")


def placeholders(text: str) -> list[str]:
    """The placeholders left in a text."""
    return _PLACEHOLDER.findall(text)


def unfilled(study: Study) -> dict[str, list[str]]:
    """The placeholders left in each field that annotators read; complete fields are omitted."""
    left_by_field = {name: placeholders(getattr(study, name)) for name in _READ}
    return {name: left for name, left in left_by_field.items() if left}


def ready_language(study: Study) -> str:
    """The language of the ready-made texts: that of the study, or English if it has none."""
    language = base_of(study.language)
    return language if (_FOLDER / f"{language}.toml").is_file() else _ENGLISH


def template_for(study: Study, name: str) -> str:
    """The ready-made text for a field, filled in from the study's settings."""
    language = ready_language(study)
    ready = _texts_in(language)
    words = ready["words"]
    facts = {
        fact: getattr(study, fact) or unknown for fact, unknown in ready["unknown"].items()
    } | {
        "items": items_shown(study),
        "minutes": study.minutes,
        "pay": _pay(study, words, language),
        "identity": words["anonymous" if study.entry == Study.Entry.LINK else "by_id"],
    }
    for fact in ("storage", "ethics"):
        if phrase := getattr(study, fact):
            facts[fact] = _sentence(phrase, language)
    if name == "consent":
        facts["certainty"] = words["asks_certainty"] if study.ask_certainty else ""
        with translation.override(language):
            facts["added"] = "".join(f" {sentence}" for sentence in consent_sentences(study))
    elif name == "instructions":
        own = "own_" if study.asks_own_answers else ""
        facts |= {
            "certainty": words[own + "certainty"] if study.ask_certainty else "",
            "tie": words[own + ("either" if study.offers_either else "tie")]
            if study.allow_tie
            else "",
            "changes": words["changes"] if study.allow_changes else "",
        }
    text: str = (ready["own_answers"] if study.asks_own_answers else ready)[name]
    return text.format(**facts)


def outdated_sentence(study: Study) -> tuple[str, str]:
    """A ready-made sentence of the own consent whose numbers have changed, and as it is now.

    Both are empty if there is none. The text was filled in once, and settings may change later.
    """
    for line in template_for(study, "consent").splitlines():
        now = line.partition("[[")[0].strip()
        numbers = re.sub(r"\d+", r"\\d+", re.escape(now))
        stated = re.search(numbers, study.consent) if numbers != re.escape(now) else None
        if stated and stated[0] != now:
            return stated[0], now
    return "", ""


def _sentence(phrase: str, language: str) -> str:
    """A phrase as a sentence of its own: “on servers in the EU” becomes “On servers in the EU.”"""
    stop = "。" if language.startswith("zh") else "."
    end = "" if phrase.endswith((".", "!", "?", "。", "؟", "]]")) else stop
    return f"{phrase[:1].upper()}{phrase[1:]}{end}"


def ready_checks_text(study: Study) -> list[dict[str, Any]]:
    """The ready-made attention checks: responses are lists of sentences, with what is `between`."""
    ready = _texts_in(ready_language(study))
    whatever = ready["words"]["whatever_own" if study.asks_own_answers else "whatever"]
    return [
        check
        | {
            "instruction": check["instruction"].format(whatever=whatever),
            "between": ready["words"]["between"],
        }
        for check in ready["checks"]
    ]


def ready_practice(study: Study) -> Path:
    """The file of two ready-made practice items."""
    return _FOLDER / f"practice.{ready_language(study)}.jsonl"


def _pay(study: Study, words: Mapping[str, str], language: str) -> str:
    if not study.reward:
        return words["unpaid"]
    with translation.override(language):
        amount, hourly = (
            isolated(format_money(sum_of_money, study.currency))
            for sum_of_money in (study.reward, study.reward * 60 / study.minutes)
        )
    return words["paid"].format(amount=amount, hourly=hourly)


@cache
def _texts_in(language: str) -> dict[str, Any]:
    return tomllib.loads((_FOLDER / f"{language}.toml").read_text("utf-8"))
