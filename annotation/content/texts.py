"""The texts that a study may replace, and the worked examples of the instructions."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from annotation.content.wording import setting_of
from studies.models import Study, Task
from studies.money import format_money
from studies.prompts.own_answers import wording_in
from studies.texts.markdown import render_markdown

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

_BOX = re.compile(r"^[ \t]*[-*] \[ \] *(\S.*)$", re.MULTILINE)


# Settings that can change after the launch: each annotator was promised what they were then.
TERMS = (
    "title",
    "reward",
    "currency",
    "minutes",
    "contact",
    "entry",
    "ai_policy",
    "allow_changes",
)


@dataclass(frozen=True)
class ConsentText:
    """The text an annotator consents to; `version` is stored with the consent.

    To agree, an annotator ticks every one of the `statements`. `terms` are what the study promises.
    """

    html: SafeString
    version: str
    statements: tuple[str, ...]
    terms: Mapping[str, Any]


def consent_parts(text: str) -> tuple[str, tuple[str, ...]]:
    """A consent text without its boxes, and the statement of each box: a line after “- [ ]”."""
    statements = tuple(match[1].strip() for match in _BOX.finditer(text))
    return (_BOX.sub("", text).rstrip() if statements else text), statements


def consent_text(study: Study) -> ConsentText:
    """The study's own consent text or the default one, with the facts that both must state."""
    own, statements = consent_parts(study.consent)
    rendered = render_to_string(
        "annotation/_consent_text.html",
        {
            "study": study,
            "own": render_markdown(own),
            "ai_policy": render_markdown(study.ai_policy),
            "pay": format_money(study.reward, study.currency),
            "pay_per_hour": format_money(study.reward * 60 / study.minutes, study.currency),
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
        reason=_("The person gives free time to such a home, so “Yes” fits better."),
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
        reason=_("Handovers at night belong to the person’s own work."),
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
    """Two examples for the study's task: one that the profile decides and one that it does not.

    None for people who answer for themselves: an example could only sway them.
    """
    if study.asks_own_answers:
        return ()
    return _EXAMPLES[Task(study.task)]
