"""The participants' pages before and after the items, in the order they are shown."""

from collections.abc import Mapping
from typing import Any

from django.core import signing
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import services
from annotation.content.consent_versions import agreed_by
from annotation.content.texts import consent_text
from annotation.errors import (
    EntryRefused,
    OtherDevice,
    StudyNotOpen,
    TookPartBefore,
    TooManyStarts,
)
from annotation.models import Annotator, Ending, random_code
from annotation.participants.access import (
    bind,
    closed,
    code_context,
    deadline_of,
    find_annotator,
    is_opened,
    may_preview,
    no_identity,
    parameters_of,
    participant_page,
    see_other,
    step_url,
    study_page,
    took_part,
    with_way_back,
)
from annotation.participants.added_steps import NOTES, STEPS
from annotation.participants.forms import AboutForm, ConsentForm, FeedbackForm
from annotation.participants.item_context import (
    instructions_context,
    next_url,
    progress_of,
    task_url,
)
from annotation.prolific.sync.entry import (
    EntryVerification,
    note_entry,
    verify_entry,
    wants_refresh,
)
from annotation.prolific.sync.sync import is_confirmed, refresh_submission
from annotation.seats.assignment import is_doubtful
from annotation.seats.flow import code_ending, completion_code, ending_of, step_of
from annotation.services.identities import has_entered
from annotation.services.other_platforms import with_own_pay
from annotation.tasks import refresh_prolific
from studies.models import Study
from studies.pages.responses import REFUSED
from studies.pages.signed_in import client_address
from studies.services.accounts.sign_ins import minutes
from studies.texts.markdown import render_markdown

TOO_MANY = 429
# A start page has a signed resume code that no annotator has yet, so that a second press of its
# button begins no second part.
_START = "annotation.start"


@require_http_methods(["GET", "POST"])
@study_page
def entry(request: HttpRequest, study: Study) -> HttpResponse:
    """Handle every study link: find or create the annotator and redirect to their current step.

    Prolific opens its links by GET, so a GET begins a part, but only if a person opens the page,
    not if a browser prefetches it or loads it inside another page.
    """
    if not is_opened(request):
        return HttpResponse("Open this link in its own tab.\n", "text/plain", status=403)
    query = parameters_of(request)
    pid = query.get("PROLIFIC_PID", "")
    known = find_annotator(request, study.slug)
    # The way to enter may have changed since somebody came: their own link still works.
    by_link = study.entry == Study.Entry.LINK
    if (by_link and not (pid and has_entered(study, pid))) or _has_code(request, study):
        return _enter_by_link(request, study, known)
    if known and not pid:
        return redirect(step_url(known))
    if not pid and may_preview(request, study):
        return redirect("annotation:preview", study.slug, "task")
    try:
        verification = verify_entry(study, query)
        annotator = services.enter(
            study=study,
            pid=pid,
            prolific_study_id=query.get("STUDY_ID", ""),
            session_id=query.get("SESSION_ID", ""),
            address=client_address(request),
            bound_to=known.pk if known else None,
            is_vouched_for=verification.vouches,
        )
        note_entry(annotator, verification)
        is_watched = verification != EntryVerification.UNWATCHED
        if is_watched and annotator.state == Annotator.State.ARRIVED and wants_refresh(study):
            # In a worker, so that nobody waits; without a worker, the next reading does it.
            refresh_prolific.delay_on_commit(study.pk)  # type: ignore[attr-defined]
    except OtherDevice:
        return no_identity(request, study, is_other_device=True)
    except EntryRefused:
        return no_identity(request, study)
    except TooManyStarts as error:
        return no_identity(request, study, wait=minutes(error.wait))
    except TookPartBefore:
        return took_part(request, study)
    except StudyNotOpen:
        return closed(request, study)
    return bind(request, redirect(step_url(annotator)), annotator)


def _has_code(request: HttpRequest, study: Study) -> bool:
    """Whether the link has the resume code of somebody who began by an open link."""
    code = request.GET.get("code", "").strip().upper()
    return bool(code) and study.annotators.filter(resume_code=code).exists()


def _enter_by_link(request: HttpRequest, study: Study, known: Annotator | None) -> HttpResponse:
    """Handle an open link; a new annotator starts by a button.

    Without the button, link previews and crawlers would create annotators. The browser's annotator
    continues, or the annotator of a resume code. After an ending, the browser is free for another
    annotator, for example in a classroom.
    """
    code = (request.POST if request.method == "POST" else request.GET).get("code", "").strip()
    context = {
        "study": study,
        "code": code,
        "preview_offered": may_preview(request, study),
        "start": signing.dumps(random_code(10), salt=_START),
    }
    has_left = request.method == "POST" and known and ending_of(known)
    if known and not code and not has_left:
        return see_other(step_url(known))
    if request.method == "GET" and not code:
        if study.state != Study.State.OPEN and not context["preview_offered"]:
            return closed(request, study)
        return render(request, "annotation/start.html", context)
    try:
        annotator = services.enter_by_link(
            study_id=study.pk,
            resume_code=code,
            fresh_code=_read_start(request.POST.get("start", "")),
            address=client_address(request),
        )
    except TooManyStarts as error:
        wait = minutes(error.wait)
        response = render(
            request, "annotation/start.html", {**context, "wait": wait}, status=TOO_MANY
        )
        response.headers["Retry-After"] = str(60 * wait)
        return response
    except EntryRefused:
        return render(
            request, "annotation/start.html", {**context, "unknown": True}, status=REFUSED
        )
    except StudyNotOpen:
        return closed(request, study)
    return bind(request, see_other(step_url(annotator)), annotator)


def _read_start(token: str) -> str:
    """The code of a start page; empty if this installation did not sign it."""
    try:
        return str(signing.loads(token, salt=_START))
    except signing.BadSignature:
        return ""


@require_http_methods(["GET", "POST"])
@participant_page("consent")
def consent(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Agree or refuse. Refusing after agreeing means to withdraw, which asks for confirmation.

    An amended text is shown as it is today, to be agreed to again.
    """
    is_due = annotator.consent_due
    study = Study.objects.get(pk=annotator.study_id) if is_due else annotator.study
    text = consent_text(with_own_pay(study, annotator))
    sent = request.POST if request.method == "POST" else None
    form = ConsentForm(sent, statements=text.statements)
    # They agree to what they read, not to a text that was saved in the meantime.
    is_other = request.POST.get("version", text.version) != text.version
    if not form.is_valid() or (is_other and form.cleaned_data["consent"] == "yes"):
        context = {
            "study": annotator.study,
            "annotator": annotator,
            "text": text,
            "form": form,
            "is_other": is_other,
            "is_due": is_due,
        }
        status = REFUSED if form.is_bound else 200
        return render(request, "annotation/consent.html", context, status=status)
    if form.cleaned_data["consent"] == "yes":
        annotator = services.consent(annotator_id=annotator.pk, version=text.version, text=text)
    elif step_of(annotator) == "consent":
        annotator = services.decline(annotator_id=annotator.pk)
    else:
        return see_other(step_url(annotator, "withdraw"))
    return see_other(step_url(annotator))


@require_safe
@participant_page("consent", after_end=True)
def consent_copy(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Show only the consent text, to print or keep, before and after the decision.

    Those who agreed see what they agreed to, whatever the study says now.
    """
    # The annotator's study has the rules that they agreed to.
    today = consent_text(with_own_pay(Study.objects.get(pk=annotator.study_id), annotator))
    agreed = agreed_by(annotator)
    if agreed is None:
        changed = annotator.consent_version not in ("", today.version)
    else:
        changed = (agreed.html, agreed.statements) != (today.html, [*today.statements])
    context = {
        "study": annotator.study,
        "annotator": annotator,
        "text": agreed or today,
        "is_agreed": agreed is not None,
        "changed": changed,
        "continue_url": step_url(annotator),
    }
    return render(request, "annotation/consent_copy.html", context)


@require_http_methods(["GET", "POST"])
@participant_page("about")
def about(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """The quota questions, answered only once, because they decide the reserved place."""
    if step_of(annotator) != "about":
        return see_other(step_url(annotator))
    form = AboutForm(
        request.POST if request.method == "POST" else None,
        questions=annotator.study.demographic_questions.all(),
    )
    if form.is_valid():
        annotator = services.record_demographics(
            annotator_id=annotator.pk, demographics=form.demographics
        )
        return see_other(step_url(annotator))
    status = REFUSED if form.is_bound else 200
    context = {"study": annotator.study, "form": form}
    return render(request, "annotation/about.html", context, status=status)


@require_http_methods(["GET", "POST"])
@participant_page("instructions")
def instructions(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """The instructions; annotators can always read them again."""
    if request.method == "POST":
        if is_doubtful(annotator):
            # The annotator arrived only seconds ago: Prolific may know them by now.
            is_confirmed(annotator, refresh_submission)
        annotator = services.finish_instructions(annotator_id=annotator.pk)
        return see_other(next_url(annotator))
    context = {
        **instructions_context(annotator.study),
        "again": step_of(annotator) != "instructions",
        "continue_url": step_url(annotator),
    }
    return render(request, "annotation/instructions.html", context)


@require_http_methods(["GET", "POST"])
@participant_page("feedback")
def feedback(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """The last page: sending it completes the part, in its own transaction."""
    progress = progress_of(annotator.pk)
    if progress.next_position is not None:
        return see_other(step_url(annotator, "task"))
    for step in STEPS.of(annotator.study):
        if address := step.first_at(annotator):
            return see_other(address)
    form = FeedbackForm(
        request.POST if request.method == "POST" else None,
        initial={"comments": annotator.feedback},
    )
    if form.is_valid():
        services.leave_feedback(
            annotator_id=annotator.pk,
            text=form.cleaned_data["comments"],
            ai_use=form.cleaned_data["ai_use"],
        )
        annotator = services.complete(annotator_id=annotator.pk)
        return see_other(step_url(annotator))
    context = {
        "study": annotator.study,
        "form": form,
        "answered": progress.answered,
        "back_url": task_url(annotator.study.slug, progress.places[-1].position)
        if annotator.study.allow_changes
        else None,
    }
    status = REFUSED if form.is_bound else 200
    return render(request, "annotation/feedback.html", context, status=status)


@require_http_methods(["GET", "POST"])
@participant_page("done", after_end=True)
def done(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """The annotator's ending page; opening it again changes nothing.

    An annotator who ran out of time may continue from here.
    """
    if request.method == "POST":
        annotator = services.resume(annotator_id=annotator.pk)
        return see_other(step_url(annotator))
    ending = ending_of(annotator)
    study = annotator.study
    confirmed = is_confirmed(annotator, refresh_submission)
    context = {
        "study": study,
        "waits": not confirmed,
        "annotator": annotator,
        "answered": progress_of(annotator.pk).answered,
        "keeps_pay": code_ending(annotator) != ending,
        "notes": _notes(annotator) if ending == Ending.COMPLETED else [],
        "debrief": render_markdown(study.debrief),
        **code_context(
            study,
            completion_code(annotator) if confirmed else "",
            annotator,
            code_ending(annotator),
        ),
    }
    response = render(request, f"annotation/endings/{ending}.html", context)
    return with_way_back(response, context["way_back"])


def _notes(annotator: Annotator) -> list[tuple[str, Mapping[str, Any]]]:
    """The notes of extras for somebody who completed: templates and their contexts."""
    notes = ((note.template, note.shown(annotator)) for note in NOTES.of(annotator.study))
    return [(template, note) for template, note in notes if note]


@require_http_methods(["GET", "POST"])
@participant_page("consent", after_end=True)
def withdraw(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Ask for confirmation, then remove the annotator's answers from the study."""
    if request.method == "POST":
        annotator = services.withdraw(annotator_id=annotator.pk)
        return see_other(step_url(annotator))
    context = {
        "study": annotator.study,
        "completed": annotator.state == Annotator.State.COMPLETED,
        "continue_url": step_url(annotator),
    }
    return render(request, "annotation/withdraw.html", context)


@require_safe
@participant_page("consent")
def pause(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Explain how to leave and come back."""
    context = {
        "study": annotator.study,
        "annotator": annotator,
        "progress": progress_of(annotator.pk),
        "continue_url": step_url(annotator),
    }
    return render(request, "annotation/pause.html", context)


@require_POST
@participant_page("consent")
def extend(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Extend the time and redirect to the previous page; scripts get the new limit instead."""
    annotator = services.extend(annotator_id=annotator.pk)
    deadline = deadline_of(annotator)
    if deadline and request.accepts("application/json") and not request.accepts("text/html"):
        return JsonResponse(deadline.as_json())
    came_from = request.POST.get("from", "")
    below = reverse("annotation:entry", args=[annotator.study.slug])
    return see_other(came_from if came_from.startswith(below) else step_url(annotator))


@require_safe
@participant_page("consent")
def help_page(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Show the instructions again: next to the item, or as a page without JavaScript."""
    context = {
        "study": annotator.study,
        "annotator": annotator,
        "continue_url": step_url(annotator),
    }
    return render(request, "annotation/help.html", context)
