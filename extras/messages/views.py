"""Messages to annotators on Prolific: list, draft, preview, send."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from annotation.prolific.api.transport import NotAllowed, ProlificError
from annotation.prolific.pages.views import UNPROCESSABLE, attempt, editor_page, show, user_of
from extras.messages.models import ProlificMessage
from extras.messages.sending import (
    LONGEST,
    MessageCounts,
    audience_of,
    audiences,
    counts_of,
    delete_draft,
    recipients_of,
    save_draft,
    send,
)
from extras.messages.workbench import unread_of
from studies.models import Study
from studies.pages.responses import csv_response, whole_number

_COLUMNS = ("sent_at", "by", "to", "people", "received", "refused", "text")
_NOBODY = MessageCounts(0, 0, 0, 0)


class MessageForm(forms.Form):
    to = forms.ChoiceField(label="To")
    text = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 8, "maxlength": LONGEST}),
        label="Text",
        help_text="Plain text. Everybody gets the same one, as a message from your Prolific "
        "account about this study.",
    )


def _title(study: Study, name: str) -> str:
    """The audience's title; its name if it no longer exists."""
    try:
        return audience_of(study, name).title
    except NotAllowed:
        return name


@require_http_methods(["GET"])
@editor_page
def message_list(request: HttpRequest, study: Study) -> HttpResponse:
    """Every message: who sent it, when, what, and to how many; also as CSV."""
    found = list(study.prolific_messages.select_related("user").order_by("-pk"))
    counts = counts_of(found)
    rows = [(one, _title(study, one.audience), counts.get(one.pk, _NOBODY)) for one in found]
    if request.GET.get("format") == "csv":
        sent = [
            [
                one.sent_at.isoformat(timespec="seconds"),
                one.user.get_username() if one.user else "",
                to,
                count.people,
                count.sent,
                count.refused,
                one.text,
            ]
            for one, to, count in reversed(rows)
            if one.sent_at
        ]
        return csv_response(f"{study.slug}-messages", _COLUMNS, sent)
    return show(request, study, "messages", {"rows": rows, "unread": unread_of(study)})


@require_http_methods(["GET", "POST"])
@editor_page
def write_message(request: HttpRequest, study: Study) -> HttpResponse:
    """Write a draft, or change one; nothing is sent."""
    draft = _message(request, study)
    if draft is not None and draft.sent_at:
        return _to(study, draft)
    to = request.GET.get("to") or (draft.audience if draft else "")
    initial = {"to": to, "text": draft.text if draft else ""}
    choices = [(one.name, one.title) for one in audiences(study)]
    if to and to not in dict(choices):
        try:
            choices.append((to, audience_of(study, to).title))
        except NotAllowed:
            raise Http404 from None
    if to and draft is None:
        initial["text"] = audience_of(study, to).draft(study)
    form = MessageForm(request.POST if request.method == "POST" else None, initial=initial)
    form.fields["to"].choices = choices  # type: ignore[attr-defined]
    if form.is_valid():
        try:
            saved = save_draft(
                study_id=study.pk,
                audience=form.cleaned_data["to"],
                text=form.cleaned_data["text"],
                user=user_of(request),
                draft_id=draft.pk if draft else None,
            )
        except NotAllowed as error:
            form.add_error("text", str(error))
        else:
            return _to(study, saved)
    status = UNPROCESSABLE if form.is_bound else 200
    return show(request, study, "message_draft", {"form": form, "draft": draft}, status=status)


@require_http_methods(["GET", "POST"])
@editor_page
def send_message(request: HttpRequest, study: Study) -> HttpResponse:
    """Preview a draft with the number of people; a press sends it, or goes on where it stopped."""
    message = _message(request, study)
    if message is None:
        raise Http404
    if request.method == "POST":
        if request.POST.get("action") == "delete":
            done = attempt(
                request,
                lambda: delete_draft(study_id=study.pk, message_id=message.pk),
                lambda _: "Draft deleted.",
            )
            return redirect("messages:list", study.slug) if done else _to(study, message)
        confirmed = whole_number(request.POST.get("people", "")) or 0
        _attempt_to_send(request, study, message, confirmed)
        return _to(study, message)
    context: dict[str, Any] = {"message": message, "to": _title(study, message.audience)}
    if message.sent_at:
        context["counts"] = counts_of([message]).get(message.pk, _NOBODY)
    else:
        try:
            found = recipients_of(study, audience_of(study, message.audience))
        except NotAllowed:
            found = []
        context["people"] = [one.annotator.pseudonym for one in found if one.annotator]
    return show(request, study, "message", context)


def _attempt_to_send(
    request: HttpRequest, study: Study, message: ProlificMessage, confirmed: int
) -> None:
    try:
        done = send(
            study_id=study.pk, message_id=message.pk, confirmed=confirmed, user=user_of(request)
        )
    except ProlificError as error:
        words = [str(error)]
        if (counts := counts_of([message]).get(message.pk)) is not None:
            words.append(f"Sent to {counts.sent:,} of {counts.people:,} so far.")
            words.append("Go on below: nobody gets the message twice.")
        messages.error(request, " ".join(words))
        return
    messages.success(request, f"Message sent to {done.sent:,} of {done.people:,}.")


def _message(request: HttpRequest, study: Study) -> ProlificMessage | None:
    """The message that the address names; None if it names none, otherwise a 404."""
    given = request.GET.get("message", "")
    if not given:
        return None
    number = whole_number(given)
    found = study.prolific_messages.filter(pk=number).first() if number is not None else None
    if found is None:
        raise Http404
    return found


def _to(study: Study, message: ProlificMessage) -> HttpResponse:
    address = reverse("messages:message", args=[study.slug])
    return redirect(f"{address}?{urlencode({'message': message.pk})}")
