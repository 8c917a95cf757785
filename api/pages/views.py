"""A study's webhooks: add, test, delete, and the log of deliveries; for owners."""

from typing import cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from api import webhooks
from api.models import Event, Webhook
from api.webhooks import WebhookError
from studies.models import Membership, Study
from studies.pages.listing import role_of
from studies.pages.responses import REFUSED
from studies.pages.workbench import SectionPage
from studies.selectors import get_study

_PER_PAGE = 50


class WebhookForm(forms.Form):
    url = forms.CharField(
        label="Address",
        max_length=500,
        help_text="An address of your server, for example https://lab.example.org/thirdperson.",
        widget=forms.URLInput,
    )
    events = forms.MultipleChoiceField(
        label="Events",
        choices=[(event.value, event.label.capitalize()) for event in Event if event != Event.TEST],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one."},
    )


@require_GET
@login_required
def list_webhooks(request: HttpRequest, slug: str) -> HttpResponse:
    """List the webhooks of the study, and add one."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    return _page(request, study, WebhookForm())


@require_POST
@login_required
def add(request: HttpRequest, slug: str) -> HttpResponse:
    """Add a webhook; its secret is shown only once."""
    study = _owned(request, slug)
    form, secret = WebhookForm(request.POST), ""
    if form.is_valid():
        try:
            _, secret = webhooks.add_webhook(
                study_id=study.pk, user=cast(User, request.user), **form.cleaned_data
            )
            form = WebhookForm()
        except WebhookError as error:
            form.add_error("url", str(error))
    return _page(request, study, form, secret=secret)


@require_GET
@login_required
def webhook(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """The log of a webhook."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    found = _find(study, public_id)
    page = Paginator(found.deliveries.all(), _PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "webhook": found,
        "page": page,
        "is_owner": _is_owner(request, study),
    }
    return render(request, "api/webhook.html", context)


@require_POST
@login_required
def send_test(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Send a test to a webhook."""
    webhooks.send_test(webhook=_find(_owned(request, slug), public_id))
    messages.success(request, "The test is being sent. Reload this page to see the response.")
    return redirect("webhooks:webhook", slug, public_id)


@require_POST
@login_required
def again(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Send an event once more."""
    found = _find(_owned(request, slug), public_id)
    sent = request.POST.get("delivery", "")
    webhooks.deliver_again(delivery=get_object_or_404(found.deliveries, public_id=sent))
    messages.success(request, "The event is being sent again.")
    return redirect("webhooks:webhook", slug, public_id)


@require_POST
@login_required
def delete(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Delete a webhook; nothing more is sent to it."""
    found = _find(_owned(request, slug), public_id)
    webhooks.delete_webhook(webhook=found, user=cast(User, request.user))
    messages.success(request, "Webhook deleted. Nothing more is sent to its address.")
    return redirect("webhooks:list", slug)


def _owned(request: HttpRequest, slug: str) -> Study:
    return get_study(request.user, slug, role=Membership.Role.OWNER)


def _is_owner(request: HttpRequest, study: Study) -> bool:
    return role_of(request.user, study) == Membership.Role.OWNER


def _find(study: Study, public_id: str) -> Webhook:
    return get_object_or_404(Webhook, study=study, public_id=public_id)


def _page(
    request: HttpRequest, study: Study, form: WebhookForm, *, secret: str = ""
) -> HttpResponse:
    context = {
        "study": study,
        "form": form,
        "secret": secret,
        "webhooks": webhooks.webhooks_of(study),
        "is_owner": _is_owner(request, study),
    }
    status = REFUSED if form.errors else 200
    return render(request, "api/webhooks.html", context, status=status)


def webhook_pages(study: Study) -> list[SectionPage]:
    address = reverse("webhooks:list", args=[study.slug])
    return [SectionPage("settings", "Webhooks", address, for_editors=True)]
