"""A preview of the participants' pages for researchers; no answer is stored."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.content.added_questions import added_forms
from annotation.content.comprehension import OpenQuestion, unfair_checks
from annotation.content.texts import consent_text, setting_of
from annotation.participants.access import may_preview, see_other, study_page
from annotation.participants.added_steps import STEPS as ADDED
from annotation.participants.forms import AboutForm, AnswerForm, FeedbackForm
from annotation.participants.item_context import (
    ItemProgress,
    ProgressOnItems,
    ShownInitial,
    instructions_context,
    item_context,
)
from studies.models import Item, Side, Study
from studies.pages.responses import whole_number, with_frames
from studies.prompts import build_prompt
from studies.selectors import get_study

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise


STEPS = {
    "consent": _("Consent"),
    "about": _("About you"),
    "instructions": _("Instructions"),
    "quiz": _("Comprehension check"),
    "practice": _("Practice"),
    "task": _("Item"),
    "attention": _("Attention check"),
    "feedback": _("Feedback"),
}
# Steps that show a sequence of items, and the kind of items.
ITEM_STEPS = {"task": Item.Split.MAIN, "attention": Item.Split.ATTENTION_CHECK}
_ITEMS = 30


@require_http_methods(["GET", "POST"])
@study_page
def preview(request: HttpRequest, study: Study, step: str) -> HttpResponse:
    """Show researchers a page as participants see it; sending it opens the next. Otherwise 404."""
    if step not in _all_steps() or not may_preview(request, study):
        raise Http404
    steps = steps_of(study)
    # The page around the frames has its own links.
    framed = request.headers.get("Sec-Fetch-Dest") == "iframe"
    common = {"study": study, "preview": steps, "step": step, "framed": framed}
    if step in ITEM_STEPS:
        return _item(request, study, common)
    if request.method == "POST" or step not in steps:
        return see_other(_url(study, _after(step, steps)))
    pages: dict[str, dict[str, Any]] = {
        "consent": {"text": consent_text(study)},
        "about": {"form": AboutForm(questions=study.demographic_questions.all())},
        "instructions": instructions_context(study),
        "quiz": {"now": _first_question(study), "instructions_url": _url(study, "instructions")},
        "practice": _practice(study),
        "feedback": {"form": FeedbackForm(), "answered": study.items_per_annotator},
        **{
            extra_step.name: dict(extra_step.preview(study))
            for extra_step in ADDED
            if extra_step.name == step
        },
    }
    return render(request, f"annotation/{step}.html", common | pages[step])


def _item(request: HttpRequest, study: Study, common: dict[str, Any]) -> HttpResponse:
    """Show one item, by key, response 1 first; answers are checked like real ones."""
    step = common["step"]
    items = list(items_of(study, step)[:_ITEMS])
    if not items:
        return render(request, "annotation/preview_empty.html", common)
    number = min(whole_number(request.GET.get("item", "1")) or 1, len(items))
    item = items[number - 1]
    data = request.POST if request.method == "POST" else None
    order = order_shown(item)
    is_second = request.POST.get("after_advice") == "yes"
    added = added_forms(study) if not order and (is_second or not item.has_advice) else []
    form = AnswerForm(data, study=study, task=item.task, options=len(order or ()), added=added)
    url = _url(study, step)
    initial = None
    if form.is_valid() and item.has_advice and not is_second:
        # Nothing is stored, so the page with the advice gets the first answer from this request.
        initial = ShownInitial(form.cleaned_data["choice"], form.cleaned_data["certainty"])
        form = AnswerForm(
            study=study, task=item.task, initial=_as_initial(initial), added=added_forms(study)
        )
    if form.is_valid():
        last = number == len(items)
        following = _url(study, _after(step, common["preview"]))
        return see_other(following if last else f"{url}?item={number + 1}")
    context = {
        **common,
        **item_context(item=item, shown_first=Side.R1, form=form, number=number, order=order),
        "initial": initial,
        "action": f"{url}?item={number}",
        "draft_key": "",
        "number": number,
        "progress": ProgressOnItems(
            [ItemProgress(n, n < number, None, n < number) for n in range(1, len(items) + 1)]
        ),
        "back_url": f"{url}?item={number - 1}" if number > 1 else None,
    }
    return render(request, "annotation/task.html", context, status=422 if form.is_bound else 200)


def _as_initial(initial: ShownInitial) -> dict[str, str]:
    return {"choice": initial.choice, "certainty": str(initial.certainty or "")}


def unsaved_item(
    request: HttpRequest, *, study: Study, item: Item, number: int, total: int
) -> HttpResponse:
    """The page of an unsaved item, response 1 first."""
    places = [ItemProgress(n, n < number, None, n < number) for n in range(1, total + 1)]
    order = order_shown(item)
    added = added_forms(study) if not (order or item.has_advice) else []
    form = AnswerForm(study=study, task=item.task, options=len(order or ()), added=added)
    with translation.override(study.page_language):
        context = {
            **item_context(item=item, shown_first=Side.R1, form=form, number=number, order=order),
            "preview": steps_of(study),
            "framed": True,
            "action": request.path,
            "draft_key": "",
            "number": number,
            "progress": ProgressOnItems(places),
            "back_url": None,
        }
        return render(request, "annotation/task.html", context)


def order_shown(item: Item) -> list[int] | None:
    """The responses of a set in their own order, if annotators see whole sets."""
    if not (item.study.shows_whole_sets and item.option_set and item.split == Item.Split.MAIN):
        return None
    return list(range(1, item.option_count + 1))


def items_of(study: Study, step: str) -> QuerySet[Item]:
    """The items that a step shows, in the order of their keys.

    Items whose set another item shows have no page.
    """
    items = Item.everything.filter(study=study, split=ITEM_STEPS[step])
    if study.shows_whole_sets and step == "task":
        items = items.filter(seats_needed__gt=0)
    return items.select_related("persona", "study").order_by("key")


def _url(study: Study, step: str) -> str:
    return reverse("annotation:preview", args=[study.slug, step])


def steps_of(study: Study) -> "dict[str, str | StrPromise]":
    """The steps that this study has."""
    has = {
        "quiz": study.comprehension_questions.exists(),
        "practice": _practice_items(study).exists(),
        "attention": items_of(study, "attention").exists(),
    } | {extra_step.name: extra_step.is_in(study) for extra_step in ADDED}
    return {step: label for step, label in _all_steps().items() if has.get(step, True)}


def _all_steps() -> "dict[str, str | StrPromise]":
    """The steps that a study can have, with those of extras before the feedback."""
    steps: dict[str, str | StrPromise] = {**STEPS}
    last = steps.pop("feedback")
    return steps | {extra_step.name: extra_step.title for extra_step in ADDED} | {"feedback": last}


def _after(step: str, steps: Collection[str]) -> str:
    names = [name for name in _all_steps() if name in steps or name == step]
    return names[(names.index(step) + 1) % len(names)]


def _first_question(study: Study) -> OpenQuestion | None:
    question = study.comprehension_questions.first()
    total = study.comprehension_questions.count()
    return OpenQuestion(question, 1, total, tries=0) if question else None


def _practice_items(study: Study) -> QuerySet[Item]:
    return Item.everything.filter(study=study, split=Item.Split.PRACTICE).order_by("key")


def _practice(study: Study) -> dict[str, Any]:
    item = _practice_items(study).select_related("persona", "study").first()
    if item is None:
        return {}
    form = AnswerForm(study=study, task=item.task, added=added_forms(study))
    return {
        **item_context(item=item, shown_first=Side.R1, form=form, number=1),
        "action": _url(study, "practice"),
        "draft_key": "",
    }


@require_safe
@login_required
def frames(request: HttpRequest, slug: str, step: str = "task") -> HttpResponse:
    """Show a step in both sizes; for an item also the prompt that a model gets."""
    study = get_study(request.user, slug)
    steps = steps_of(study)
    if step not in steps:
        raise Http404
    context: dict[str, Any] = {
        "study": study,
        "steps": steps,
        "step": step,
        "unfair": unfair_checks(study),
    }
    query = ""
    if step in ITEM_STEPS and (place := _shown_item(study, step, request.GET.get("item", "1"))):
        item, number, total = place
        query = "?" + urlencode({"item": number})
        setting = setting_of(study)
        context |= {
            "item": item,
            "number": number,
            "total": total,
            "before": number - 1,
            "after": number + 1 if number < total else 0,
        }
        if step == "task":
            prompt = build_prompt(item, setting=setting, shown_first=Side.R1)
            context |= {"setting": setting, "prompt": prompt}
    context["framed"] = reverse("annotation:preview", args=[slug, step]) + query
    return with_frames(render(request, "annotation/researcher/preview.html", context))


def _shown_item(study: Study, step: str, asked: str) -> tuple[Item, int, int] | None:
    """The item with this number by key, its number, and the number of items."""
    items = items_of(study, step)
    total = items.count()
    if not total:
        return None
    number = min(whole_number(asked) or 1, total)
    return items[number - 1], number, total
