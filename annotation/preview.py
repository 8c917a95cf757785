"""Researchers look at the participant's pages; nothing is stored."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from annotation.forms import AboutForm, AnswerForm, FeedbackForm
from annotation.pages import instructions_context, item_context
from annotation.participant import may_preview, see_other, study_page
from annotation.progress import Place, Progress
from annotation.texts import consent_text
from studies.models import Item, Side, Study

STEPS = {
    "consent": _("Consent"),
    "about": _("About you"),
    "instructions": _("Instructions"),
    "task": _("Item"),
    "feedback": _("Feedback"),
}
_ITEMS = 30


@require_http_methods(["GET", "POST"])
@study_page
def preview(request: HttpRequest, study: Study, step: str) -> HttpResponse:
    """One page as participants get it; sending it leads to the next. Others see a 404."""
    if step not in STEPS or not may_preview(request, study):
        raise Http404
    common = {"study": study, "preview": STEPS, "step": step}
    if step == "task":
        return _item(request, study, common)
    if request.method == "POST":
        return see_other(_url(study, _after(step)))
    pages: dict[str, dict[str, Any]] = {
        "consent": {"text": consent_text(study)},
        "about": {"form": AboutForm(questions=study.demographic_questions.all())},
        "instructions": instructions_context(study),
        "feedback": {"form": FeedbackForm(), "answered": study.items_per_annotator},
    }
    return render(request, f"annotation/{step}.html", common | pages[step])


def _item(request: HttpRequest, study: Study, common: dict[str, Any]) -> HttpResponse:
    """The items in the order of their keys, response 1 first, checked like real answers."""
    items = list(
        Item.objects.filter(study=study).select_related("persona", "study").order_by("key")[:_ITEMS]
    )
    if not items:
        return render(request, "annotation/preview_empty.html", common)
    asked = request.GET.get("item", "1")
    number = min(int(asked), len(items)) if asked.isascii() and asked.isdigit() else 1
    number = max(1, number)
    item = items[number - 1]
    data = request.POST if request.method == "POST" else None
    form = AnswerForm(data, study=study, task=item.task)
    url = _url(study, "task")
    if form.is_valid():
        last = number == len(items)
        return see_other(_url(study, "feedback") if last else f"{url}?item={number + 1}")
    context = {
        **common,
        **item_context(item=item, shown_first=Side.R1, form=form, number=number),
        "action": f"{url}?item={number}",
        "draft_key": "",
        "number": number,
        "progress": Progress(tuple(Place(n, n < number, None) for n in range(1, len(items) + 1))),
        "back_url": f"{url}?item={number - 1}" if number > 1 else None,
    }
    return render(request, "annotation/task.html", context, status=422 if form.is_bound else 200)


def _url(study: Study, step: str) -> str:
    return reverse("annotation:preview", args=[study.slug, step])


def _after(step: str) -> str:
    names = list(STEPS)
    return names[(names.index(step) + 1) % len(names)]
