"""The researchers' page of adjudication: the rule, the experts, what was sent, and its end."""

from collections.abc import Iterator
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from analysis.data.item_comparisons import is_small
from extras.label_models.adjudicating import (
    FIELDS,
    add_expert,
    end_expert,
    may_open,
    progress_of,
    rule_of,
    seen_rule,
    send_items,
    set_closed,
    set_rule,
)
from extras.label_models.models import MOST_EXPERTS, Expert, ExpertDecision, SplitItem
from extras.label_models.splitting import sets_of, split_now
from studies.errors import StudyError
from studies.models import Membership, Study
from studies.pages.listing import role_of
from studies.pages.responses import REFUSED
from studies.pages.workbench import Need, SectionPage
from studies.selectors import get_study


class RuleForm(forms.Form):
    """Which items go to experts."""

    no_majority = forms.BooleanField(label="No response has a majority", required=False)
    below = forms.IntegerField(
        label="The largest share is below, in percent",
        required=False,
        min_value=34,
        max_value=100,
        help_text="With 100, experts decide every item on which not all annotators agree.",
    )
    sets = forms.MultipleChoiceField(
        label="Items of which this is true", required=False, widget=forms.CheckboxSelectMultiple
    )
    per_item = forms.IntegerField(
        label="Experts for each item",
        min_value=1,
        max_value=MOST_EXPERTS,
        help_text="With two or more, the report has their agreement.",
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        sets = sets_of(study)
        cast(forms.MultipleChoiceField, self.fields["sets"]).choices = [*sets.items()]
        if not sets:
            del self.fields["sets"]


class ExpertForm(forms.Form):
    """A new expert: a member of the team, or somebody who gets a link."""

    member = forms.ChoiceField(label="Account", required=False)
    name = forms.CharField(
        label="Name",
        required=False,
        max_length=120,
        help_text="For your own list. Neither reports nor exports have it.",
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        members = User.objects.filter(memberships__study=study).order_by("username")
        self.members = {str(member.pk): member for member in members}
        cast(forms.ChoiceField, self.fields["member"]).choices = [
            ("", "None: the expert gets a link"),
            *((pk, member.get_username()) for pk, member in self.members.items()),
        ]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if not cleaned.get("member") and not cleaned.get("name"):
            self.add_error("name", "Enter a name, or choose an account.")
        return cleaned


def section_pages(study: Study) -> list[SectionPage]:
    address = reverse("adjudication:adjudication", args=[study.slug])
    return [SectionPage("report", "Adjudication", address)]


def expert_needs(study: Study) -> Iterator[Need]:
    """Items that were sent and that no expert holds, so that nobody will decide them."""
    split = SplitItem.objects.filter(item__study=study)
    held = ExpertDecision.objects.filter(expert__study=study)
    alone = split.exclude(item__in=held.values("item"))
    if (n := alone.count()) and not rule_of(study).closed_at:
        items = "1 split item has" if n == 1 else f"{n:,} split items have"
        address = reverse("adjudication:adjudication", args=[study.slug])
        yield Need(f"{items} no expert.", address, "Adjudication")


def _own(request: HttpRequest, slug: str) -> Study:
    return get_study(request.user, slug, role=Membership.Role.OWNER)


@require_GET
@login_required
def adjudication(request: HttpRequest, slug: str) -> HttpResponse:
    """Which items go to experts, who they are, and how far they are."""
    return _page(request, get_study(request.user, slug))


def _page(request: HttpRequest, study: Study, **more: Any) -> HttpResponse:
    rule = rule_of(study)
    experts = [*progress_of(study)]
    split = split_now(rule) if is_small(study, None) else None
    sent = SplitItem.objects.filter(item__study=study)
    known = {*sent.values_list("item", flat=True)}
    context: dict[str, Any] = {
        "study": study,
        "rule": rule,
        "form": RuleForm(study=study, initial={name: getattr(rule, name) for name in FIELDS}),
        "seen": seen_rule(rule),
        "expert_form": ExpertForm(study=study),
        "experts": experts,
        "own": [expert for expert in experts if may_open(expert, request.user, "")],
        "sent": len(known),
        "split": split,
        "new": len(split.reasons.keys() - known) if split else None,
        "is_owner": role_of(request.user, study) == Membership.Role.OWNER,
        **more,
    }
    status = REFUSED if "fault" in more or context["form"].errors else 200
    status = REFUSED if context["expert_form"].errors else status
    response = render(request, "label_models/adjudication.html", context, status=status)
    response["Cache-Control"] = "no-store"
    return response


@require_POST
@login_required
def save_rule(request: HttpRequest, slug: str) -> HttpResponse:
    """Store which items go to experts."""
    study = _own(request, slug)
    form = RuleForm(request.POST, study=study)
    if not form.is_valid():
        return _page(request, study, form=form)
    wanted = {name: form.cleaned_data.get(name, []) for name in FIELDS}
    try:
        set_rule(
            study_id=study.pk,
            wanted=wanted,
            seen=request.POST.get("seen"),
            user=cast(User, request.user),
        )
    except StudyError as error:
        return _page(request, study, form=form, fault=str(error))
    messages.success(request, "Saved. Nothing is sent until you send the items.")
    return redirect("adjudication:adjudication", slug)


@require_POST
@login_required
def send(request: HttpRequest, slug: str) -> HttpResponse:
    """Send the items that are split now to experts."""
    study = _own(request, slug)
    try:
        sent = send_items(study_id=study.pk, user=cast(User, request.user))
    except StudyError as error:
        return _page(request, study, fault=str(error))
    messages.success(request, str(sent))
    return redirect("adjudication:adjudication", slug)


@require_POST
@login_required
def close(request: HttpRequest, slug: str) -> HttpResponse:
    """Close the adjudication, or open it again."""
    study = _own(request, slug)
    is_closed = request.POST.get("closed") == "yes"
    set_closed(study_id=study.pk, is_closed=is_closed, user=cast(User, request.user))
    messages.success(request, "Adjudication closed." if is_closed else "Open again.")
    return redirect("adjudication:adjudication", slug)


@require_POST
@login_required
def add(request: HttpRequest, slug: str) -> HttpResponse:
    """Add an expert. Only this response shows the key of a link: the database has its hash."""
    study = _own(request, slug)
    form = ExpertForm(request.POST, study=study)
    if not form.is_valid():
        return _page(request, study, expert_form=form)
    member = form.members.get(form.cleaned_data["member"])
    try:
        expert, key = add_expert(
            study_id=study.pk,
            name=form.cleaned_data["name"] or cast(User, member).get_username(),
            member=member,
            user=cast(User, request.user),
        )
    except StudyError as error:
        form.add_error(None, str(error))
        return _page(request, study, expert_form=form)
    if not key:
        messages.success(request, f"Expert “{expert.name}” added. Send the items next.")
        return redirect("adjudication:adjudication", slug)
    address = reverse("experts:start", args=[expert.public_id])
    return _page(request, study, link=f"{settings.PUBLIC_BASE_URL}{address}?key={key}")


@require_POST
@login_required
def end(request: HttpRequest, slug: str) -> HttpResponse:
    """End an expert's access."""
    study = _own(request, slug)
    expert = get_object_or_404(Expert, study=study, public_id=request.POST.get("expert"))
    end_expert(expert_id=expert.pk, user=cast(User, request.user))
    messages.success(request, f"{expert.name} has no access now. Their decisions stay.")
    return redirect("adjudication:adjudication", slug)
