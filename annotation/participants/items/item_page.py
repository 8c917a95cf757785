"""The item page as a frame that is kept, with places that each item fills.

Rendering a template takes most of the time of a page, and nearly all of this page is the same for
every item of a study. A frame is `annotation/task.html` rendered with marks where an item's own
texts go. All that decides what the template shows is in `Look`, and a frame is made of nothing
else, so a kept frame cannot be out of date. A test compares filled frames with the template.

Pages with errors and with a deadline that is near are rendered directly, and with DEBUG every page,
so that a changed template shows.
"""

import re
import secrets
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.html import conditional_escape, escape

from annotation.content.texts import PLACES, bands_for
from annotation.participants.deadline import Deadline
from annotation.participants.items.context import SIDES, places, question_heading
from studies.models import Study
from studies.prompts import own_wording, wording
from studies.templatetags.visible_controls import visible
from studies.texts.markdown import render_markdown

TEMPLATE = "annotation/task.html"
# Each takes about 20 kB, and a study has about ten.
_KEPT = 200
# No text of a study can hold a mark, because nobody knows this number.
_NUMBER = secrets.token_hex(8)
_MARK = re.compile(f"{_NUMBER}_(\\w+)-")


class StudyLook(NamedTuple):
    """What the page shows of a study, by the names of its fields."""

    slug: str
    title: str
    entry: str
    language: str
    contact: str
    ai_policy: str
    persona_style: str
    certainty_control: str
    is_simulated: bool
    asks_own_answers: bool
    allow_tie: bool
    offers_either: bool
    ask_certainty: bool
    allow_changes: bool
    shown_criteria: tuple[tuple[str, str], ...]


class Look(NamedTuple):
    """Everything that decides which parts of the template a page shows."""

    study: StudyLook
    language: str
    task: str
    setting: str
    levels_open: bool
    choice: str
    level: str
    has_deadline: bool
    has_minutes: bool
    has_back: bool
    has_answer: bool
    has_warnings: bool
    has_context: bool
    is_folded: bool
    has_context_title: bool
    has_question: bool
    advice_kind: str
    has_advice_title: bool
    initial_choice: str
    has_initial_certainty: bool
    short_question: bool
    ranks: bool
    prompts: tuple[bool, ...]
    media: tuple[bool, ...]
    skipped: bool
    is_unsaved: bool
    offers_break: bool


def item_page(request: HttpRequest, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    """The page of `task_context`, as the template would render it."""
    deadline: Deadline | None = request.deadline  # type: ignore[attr-defined]
    if context["form"].is_bound or (deadline and deadline.is_near) or settings.DEBUG:
        return render(request, TEMPLATE, context, status=status)
    frame = _frame(look_of(context, deadline))
    values = _values(request, context, deadline)
    parts = [values[part] if is_place else part for is_place, part in frame]
    return HttpResponse("".join(parts), status=status)


def look_of(context: dict[str, Any], deadline: Deadline | None) -> Look:
    study: Study = context["study"]
    item, form = context["item"], context["form"]
    advice = item.advice if context["initial"] else {}
    return Look(
        study=StudyLook(*[getattr(study, name) for name in StudyLook._fields]),
        language=translation.get_language() or "",
        task=item.task,
        setting=context["setting"],
        levels_open=context["levels_open"],
        choice=form.choice.value,
        level=form.level_shown if study.certainty_control == "levels" else "",
        has_deadline=deadline is not None,
        has_minutes=context["progress"].minutes_left is not None,
        has_back=context["back_url"] is not None,
        has_answer=context["has_answer"],
        has_warnings=bool(item.warnings),
        has_context=bool(item.context),
        is_folded=bool(context["reading_time"]),
        has_context_title=bool(item.context_title),
        has_question=bool(item.question),
        advice_kind=advice.get("kind", ""),
        has_advice_title=bool(advice.get("title")),
        initial_choice=context["initial"].choice if advice else "",
        has_initial_certainty=bool(advice and context["initial"].certainty),
        short_question=context["short_question"],
        ranks=context["ranks"],
        prompts=tuple(bool(side.prompt) for side in context["sides"]),
        media=tuple(bool(html) for html in (context["media_html"], *_side_media(context).values())),
        skipped=context["skipped"],
        is_unsaved=context["is_unsaved"],
        offers_break=context["offers_break"],
    )


@lru_cache(maxsize=_KEPT)
def _frame(look: Look) -> list[tuple[bool, str]]:
    """The page in parts: texts as they are, and the names of what comes between them."""
    parts = _MARK.split(render_to_string(TEMPLATE, _marks(look)))
    return [(place % 2 == 1, part) for place, part in enumerate(parts)]


def _mark(name: str, is_there: bool = True) -> str:
    return f"{_NUMBER}_{name}-" if is_there else ""


def _marks(look: Look) -> dict[str, Any]:
    """The context of the template, with a mark for each text that `_values` gives."""
    return {
        "study": look.study,
        "item": SimpleNamespace(
            lang=_mark("lang"),
            warnings=[_mark("warnings")] if look.has_warnings else [],
            context=_mark("context", look.has_context),
            context_title=_mark("context_title", look.has_context_title),
            question=_mark("question", look.has_question),
            advice=SimpleNamespace(
                kind=look.advice_kind,
                title=_mark("advice_title", look.has_advice_title),
                text=_mark("advice"),
            ),
        ),
        "initial": SimpleNamespace(
            choice=look.initial_choice,
            certainty=_mark("initial_certainty", look.has_initial_certainty),
        )
        if look.advice_kind
        else None,
        "profile_html": _mark("profile"),
        "reading_start": _mark("reading_start", look.is_folded),
        "reading_time": _mark("reading_time", look.is_folded),
        "short_question": look.short_question,
        "question_heading": question_heading(look.task, own_answers=look.study.asks_own_answers),
        "sides": [
            SimpleNamespace(
                value=value,
                name=name,
                text=_mark(f"text_{value}"),
                prompt=_mark(f"prompt_{value}", has_prompt),
                media_html=_mark(f"media_{value}", has_media),
                places=[
                    place._replace(checked=_mark(f"checked_{value}{place.number}"))
                    for place in places(len(look.prompts), "")
                ],
            )
            for (value, name), has_prompt, has_media in zip(
                SIDES, look.prompts, look.media[1:], strict=False
            )
        ],
        "ranks": look.ranks,
        "places_wording": PLACES,
        "media_html": _mark("media", look.media[0]),
        "has_media": any(look.media),
        "wording": (own_wording if look.study.asks_own_answers else wording)(
            look.task, look.setting
        ),
        "bands": bands_for(own_answers=look.study.asks_own_answers),
        "levels_open": look.levels_open,
        "ai_policy": render_markdown(look.study.ai_policy),
        "form": SimpleNamespace(
            choice=SimpleNamespace(value=look.choice, errors=[]),
            certainty=SimpleNamespace(value=_mark("certainty"), errors=[]),
            level_shown=look.level,
            errors={},
            data={},
            is_bound=False,
            media_missing=False,
        ),
        "number": _mark("number"),
        "progress": SimpleNamespace(total=_mark("total"), done=_mark("done")),
        "minutes_left": _mark("minutes_left", look.has_minutes),
        "back_url": _mark("back_url", look.has_back),
        **{name: _mark(name) for name in ("action", "next_url", "token", "draft_key", "draft_url")},
        **{name: _mark(name) for name in ("stamp", "spent", "skip_url", "csrf_token")},
        "has_answer": look.has_answer,
        "skipped": look.skipped,
        "is_unsaved": look.is_unsaved,
        "offers_break": look.offers_break,
        "request": SimpleNamespace(
            path=_mark("path"),
            deadline=SimpleNamespace(
                annotator=SimpleNamespace(study=look.study),
                warns_in=_mark("warns_in"),
                clock=_mark("clock"),
                iso=_mark("iso"),
                is_near=False,
                may_extend=True,
            )
            if look.has_deadline
            else None,
        ),
    }


def _values(
    request: HttpRequest, context: dict[str, Any], deadline: Deadline | None
) -> dict[str, str]:
    """The text at each mark, escaped as the template would escape it."""
    item, progress = context["item"], context["progress"]
    values = {
        "lang": escape(item.lang),
        "warnings": ", ".join(escape(warning) for warning in item.warnings),
        "context": _imported(item.context),
        "context_title": _imported(item.context_title),
        "question": _imported(item.question),
        "reading_start": _imported(context["reading_start"]),
        "reading_time": escape(context["reading_time"]),
        "advice": _imported(item.advice.get("text", "")),
        "advice_title": _imported(item.advice.get("title", "")),
        "initial_certainty": str(context["initial"].certainty) if context["initial"] else "",
        "profile": context["profile_html"],
        "certainty": escape(context["form"].certainty.value),
        "number": str(context["number"]),
        "total": str(progress.total),
        "done": str(progress.done),
        "minutes_left": escape(context["minutes_left"]),
        "csrf_token": get_token(request),
        "path": escape(request.path),
    }
    for side in context["sides"]:
        values[f"text_{side.value}"] = _imported(side.text)
        values[f"prompt_{side.value}"] = _imported(side.prompt)
        for place in side.places:
            values[f"checked_{side.value}{place.number}"] = place.checked
    values["media"] = context["media_html"]
    values |= _side_media(context)
    for name in ("action", "next_url", "token", "draft_key", "draft_url", "stamp", "skip_url"):
        values[name] = context[name]
    values["spent"], values["back_url"] = str(context["spent"]), context["back_url"] or ""
    if deadline:
        values["warns_in"] = str(deadline.warns_in)
        values["clock"], values["iso"] = deadline.clock, escape(deadline.iso)
    return values


def _side_media(context: dict[str, Any]) -> dict[str, str]:
    return {f"media_{side.value}": side.media_html for side in context["sides"]}


def _imported(text: str) -> str:
    return conditional_escape(visible(text))
