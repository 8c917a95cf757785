"""Pages for a study's wordings: the list, one version with its prompts, and the form."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from judging.errors import FieldError, InvalidValue, JudgingError
from judging.models import PromptTemplate
from judging.protocols import registry
from judging.selectors import may_edit
from judging.wordings import (
    MORE,
    MOST_LETTERS,
    SLOTS,
    checked_texts,
    compare,
    delete_wording,
    example_prompts,
    is_used,
    newest_wording,
    save_wording,
)
from studies.errors import StaleVersion
from studies.models import Membership, Study
from studies.pages.responses import with_frames
from studies.selectors import get_study
from studies.texts.slots import names_in

TEXTS = ("template", "template_without_persona")


class WordingForm(forms.Form):
    """The texts of a wording; the service checks their slots."""

    name = forms.CharField(
        max_length=60,
        label="Name",
        help_text="An existing name gets a new version, or is replaced if no run uses it yet.",
    )
    setting = forms.ChoiceField(
        choices=lambda: [
            (protocol.name, protocol.description) for protocol in registry.protocols()
        ],
        label="Setting",
        help_text="The setting reads the replies, so the text must ask for replies in its form.",
    )
    template = forms.CharField(
        max_length=MOST_LETTERS,
        required=False,
        strip=False,
        label="Prompt",
        widget=forms.Textarea(attrs={"rows": 18, "spellcheck": "false"}),
    )
    template_without_persona = forms.CharField(
        max_length=MOST_LETTERS,
        required=False,
        strip=False,
        label="Prompt for judges that see nothing of the person",
        help_text="Leave empty if no run does this.",
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
    )
    note = forms.CharField(
        max_length=1_000, required=False, label="Note", help_text="Where the words come from."
    )

    def clean(self) -> dict[str, Any]:
        """Browsers send line ends as CR LF, which no prompt should contain."""
        cleaned: dict[str, Any] = super().clean() or {}
        for name in TEXTS:
            cleaned[name] = cleaned.get(name, "").replace("\r\n", "\n")
            if not cleaned[name].strip():
                cleaned[name] = ""
        return cleaned

    def show(self, error: Exception) -> None:
        """Show a service's error next to its field, with the labels of this form."""
        if not isinstance(error, FieldError) or error.field not in self.fields:
            self.add_error(None, str(error))
            return
        self.add_error(error.field, error.worded(self._label))

    def _label(self, field: str) -> str:
        return f"“{self.fields[field].label}”" if field in self.fields else field


@login_required
@require_GET
def wordings_page(request: HttpRequest, slug: str) -> HttpResponse:
    """List the study's own wordings."""
    study = get_study(request.user, slug)
    rows = study.prompt_templates.defer("exact_texts").annotate(used=Count("runs"))
    context = {
        "study": study,
        "rows": rows.order_by("name", "-version"),
        "may_edit": may_edit(request.user, slug),
        "sources": [(source.title, reverse(source.view, args=[slug])) for source in MORE.of(study)],
    }
    return render(request, "judging/wordings.html", context)


@login_required
@require_GET
def wording_page(request: HttpRequest, slug: str, wording_id: str) -> HttpResponse:
    """Show one version: texts, prompts next to the annotators' pages, and changes."""
    study = get_study(request.user, slug)
    wording = get_object_or_404(study.prompt_templates, public_id=wording_id)
    versions = study.prompt_templates.filter(name=wording.name).defer("exact_texts")
    earlier = versions.filter(version__lt=wording.version).order_by("version").last()
    changes = [
        (field, compare(getattr(earlier, field), getattr(wording, field)))
        for field in TEXTS
        if earlier is not None and getattr(earlier, field) != getattr(wording, field)
    ]
    context = {
        "study": study,
        "wording": wording,
        "versions": versions.order_by("version"),
        "earlier": earlier,
        "changes": changes,
        "slots": sorted(set().union(*(names_in(getattr(wording, field)) for field in TEXTS))),
        "examples": example_prompts(wording),
        "runs": wording.runs.count(),
        "is_used": is_used(wording),
        "may_edit": may_edit(request.user, slug),
    }
    return with_frames(render(request, "judging/wording.html", context))


@login_required
@require_http_methods(["GET", "POST"])
def write_wording(request: HttpRequest, slug: str) -> HttpResponse:
    """Write a wording, check its prompts, and store it; `like` starts from a version."""
    study, user = get_study(request.user, slug, role=Membership.Role.EDITOR), request.user
    like = study.prompt_templates.filter(public_id=request.GET.get("like", "")).first()
    fields = ("name", "setting", *TEXTS, "note")
    initial = {field: getattr(like, field) for field in fields} if like else {}
    form = WordingForm(request.POST or None, initial=initial)
    seen = request.POST.get("seen")
    parts: dict[str, Any] = {"seen": seen or (like.sha256 if like else "")}
    if form.is_valid():
        try:
            if "save" in request.POST:
                values = {field: form.cleaned_data[field] for field in fields}
                stored = save_wording(study_id=study.pk, seen=seen, user=cast(User, user), **values)
                messages.success(request, f"{stored} is saved.")
                return redirect("judging:wording", slug, stored.public_id)
            parts |= _checked(study, form)
        except JudgingError as error:
            form.show(error)
        except StaleVersion as error:
            form.add_error(None, str(error))
            theirs = newest_wording(study, form.cleaned_data["name"])
            parts["seen"] = theirs.sha256 if theirs else ""
    context = {"study": study, "form": form, "like": like, "slots": SLOTS} | parts
    page = render(request, "judging/wording_form.html", context, status=422 if form.errors else 200)
    return with_frames(page)


def _checked(study: Study, form: WordingForm) -> dict[str, Any]:
    """Remarks and prompts of the texts in the form. Raises `InvalidValue` for the first problem."""
    texts = {field: form.cleaned_data[field] for field in TEXTS}
    checked = checked_texts(study, form.cleaned_data["setting"], **texts)
    for field, check in checked.items():
        for problem in check.problems:
            form.add_error(field, problem)
    if form.errors:
        return {}
    wording = PromptTemplate(study=study, setting=form.cleaned_data["setting"], **texts)
    remarks = dict.fromkeys(remark for check in checked.values() for remark in check.remarks)
    return {"remarks": list(remarks), "examples": example_prompts(wording), "is_checked": True}


@login_required
@require_POST
def remove_wording(request: HttpRequest, slug: str, wording_id: str) -> HttpResponse:
    """Delete a wording that no run has used."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    wording = get_object_or_404(study.prompt_templates, public_id=wording_id)
    try:
        delete_wording(wording=wording, user=cast(User, request.user))
    except InvalidValue as error:
        messages.error(request, str(error))
        return redirect("judging:wording", slug, wording_id)
    messages.success(request, f"{wording} is deleted.")
    return redirect("judging:wordings", slug)
