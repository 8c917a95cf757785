"""The preview of a participant's page on a phone and a desktop, next to the judge's prompt."""

from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotation.content.comprehension import unfair_checks
from annotation.content.texts import setting_of
from annotation.participants.preview import ITEM_STEPS, items_of, steps_of
from studies.models import Item, Side, Study
from studies.pages.responses import whole_number, with_frames
from studies.prompts import build_prompt
from studies.selectors import get_study


@require_safe
@login_required
def frames(request: HttpRequest, slug: str, step: str = "task") -> HttpResponse:
    """Show one step in both sizes; for an item also the prompt that a model gets."""
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
    if step in ITEM_STEPS and (shown := _item(study, step, request.GET.get("item", "1"))):
        item, number, total = shown
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


def _item(study: Study, step: str, asked: str) -> tuple[Item, int, int] | None:
    """The item with that number in the order of keys, its number, and the number of items."""
    items = items_of(study, step)
    total = items.count()
    if not total:
        return None
    number = min(whole_number(asked) or 1, total)
    return items[number - 1], number, total
