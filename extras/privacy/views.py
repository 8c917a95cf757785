"""Pages for a person's request: find them, send what is stored, correct, withdraw, delete."""

import json
from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from annotation.content.consent_versions import agreed_by
from annotation.models import Annotator, DemographicQuestion
from extras.privacy import personal_data
from extras.privacy.person_search import (
    elsewhere,
    search,
    words_of,
    words_of_file,
)
from extras.privacy.personal_data import RequestError
from studies.importers.files.bundle import File
from studies.models import Membership, Study
from studies.pages.listing import role_of
from studies.pages.responses import REFUSED, whole_number
from studies.pages.workbench import PersonPage, SectionPage
from studies.selectors import get_study, studies_for

_OWNER = Membership.Role.OWNER


def search_page(study: Study) -> list[SectionPage]:
    return [
        SectionPage(
            "annotators",
            "Find",
            reverse("privacy:find", args=[study.slug]),
            True,
            once="annotators",
        )
    ]


def _address(study: Study, name: str) -> str:
    return f"{reverse('privacy:person', args=[study.slug])}?{urlencode({'rater': name})}"


PERSON = PersonPage("request", "Their data", _address)


@never_cache
@require_http_methods(["GET", "POST"])
@login_required
def find(request: HttpRequest, slug: str) -> HttpResponse:
    """Find a person in every study that the user owns; the ids are in no address and no log."""
    role = _OWNER if request.method == "POST" else Membership.Role.EDITOR
    study = get_study(request.user, slug, role=role)
    matches, fault, text = None, "", request.POST.get("ids", "")
    if request.method == "POST" and "invitation" in request.POST:
        return _off_the_list(request, slug)
    if request.method == "POST":
        try:
            file = request.FILES.get("file")
            words = words_of_file(File(str(file.name), file.read())) if file else words_of(text)
            matches = search(studies_for(request.user, role=_OWNER), words)
        except RequestError as error:
            fault = str(error)
        else:
            fault = "" if any(words) else "Enter at least one id"
    is_owner = role_of(request.user, study) == _OWNER
    context = {"study": study, "found": matches, "fault": fault, "text": text, "is_owner": is_owner}
    status = REFUSED if fault else 200
    return render(request, "privacy/find.html", context, status=status)


def _off_the_list(request: HttpRequest, slug: str) -> HttpResponse:
    own = get_study(request.user, request.POST.get("study", ""), role=_OWNER)
    number = whole_number(request.POST["invitation"]) or 0
    reference = personal_data.remove_invitation(
        study_id=own.pk, invitation_id=number, user=cast(User, request.user)
    )
    messages.success(request, f"The id was removed from the list of “{own.slug}” ({reference}).")
    return redirect("privacy:find", slug)


@never_cache
@require_http_methods(["GET", "POST"])
@login_required
def request_page(request: HttpRequest, slug: str) -> HttpResponse:
    """What is stored of one person, what may still hold it, and what can be done."""
    study = get_study(request.user, slug, role=_OWNER)
    annotator = _person(request, study)
    return (_act if request.method == "POST" else _page)(request, study, annotator)


def _person(request: HttpRequest, study: Study) -> Annotator:
    people = Annotator.objects.filter(study=study).select_related("study")
    return get_object_or_404(people, pseudonym=request.GET.get("rater", ""))


def _page(
    request: HttpRequest, study: Study, annotator: Annotator, *, fault: str = ""
) -> HttpResponse:
    questions = DemographicQuestion.objects.filter(study=study)
    context = {
        "study": study,
        "annotator": annotator,
        "fault": fault,
        "tables": [(title, len(rows)) for title, rows in personal_data.stored(annotator)],
        "agreed": agreed_by(annotator),
        "copies": personal_data.held(annotator),
        "others": elsewhere(annotator, studies_for(request.user, role=_OWNER)),
        "questions": [
            (question, annotator.demographics.get(question.key, "")) for question in questions
        ],
        "obstacle": personal_data.obstacle_to_deletion(annotator),
        "is_deleted": personal_data.is_deleted(annotator),
        "may_withdraw": not annotator.is_imported and annotator.state != Annotator.State.WITHDREW,
        "kept": personal_data.KEPT_AFTERWARDS,
        "query": urlencode({"rater": annotator.pseudonym}),
    }
    status = REFUSED if fault else 200
    return render(request, "privacy/person.html", context, status=status)


@never_cache
@require_GET
@login_required
def person_file(request: HttpRequest, slug: str) -> HttpResponse:
    """Everything stored of a person as a file to send: readable, or JSON for programs."""
    study = get_study(request.user, slug, role=_OWNER)
    annotator = _person(request, study)
    tables = personal_data.stored(annotator)
    agreed = agreed_by(annotator)
    as_json = request.GET.get("format") == "json"
    reference = personal_data.note(
        study, "copied", user=cast(User, request.user), rater=annotator.pseudonym
    )
    if as_json:
        whole = {"study": study.title, "consent": agreed.html if agreed else "", **dict(tables)}
        text = json.dumps(whole, ensure_ascii=False, indent=1)
    else:
        context = {"study": study, "tables": tables, "agreed": agreed, "annotator": annotator}
        text = render_to_string("privacy/data.html", context)
    return _file(text, f"{study.slug}-data-{reference}", "json" if as_json else "html")


def _file(text: str, name: str, kind: str) -> HttpResponse:
    types = {"json": "application/json", "html": "text/html; charset=utf-8"}
    response = HttpResponse(text, content_type=types[kind])
    response["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    return response


def _act(request: HttpRequest, study: Study, annotator: Annotator) -> HttpResponse:
    """Correct, withdraw, delete, or remove a copy; then show the page, or the certificate."""
    user, action = cast(User, request.user), request.POST.get("do", "")
    reference: str | None = None
    try:
        if action == "correct":
            reference = personal_data.correct(
                annotator_id=annotator.pk,
                demographics={k[5:]: v for k, v in request.POST.dict().items() if k[:5] == "attr_"},
                feedback=request.POST.get("feedback", "").replace("\r\n", "\n"),
                user=user,
            )
        elif action == "withdraw":
            reference = personal_data.withdraw_for(annotator_id=annotator.pk, user=user)
        elif action == "delete":
            if request.POST.get("sure") != "yes":
                raise RequestError("Tick the box that the deletion cannot be undone.")
            reference = personal_data.delete(annotator_id=annotator.pk, user=user)
        else:
            copies = {copy.key: copy for copy in personal_data.held(annotator)}
            copy = copies.get(action)
            if copy is None or copy.remove is None:
                raise RequestError("This copy was removed already.")
            copy.remove(user=user)
            messages.success(request, f"Done: {copy.button}. {copy.label}.")
    except RequestError as error:
        return _page(request, study, annotator, fault=str(error))
    if action == "correct" and reference is None:
        messages.info(request, "Nothing was changed.")
    if reference is not None:
        return redirect("privacy:done", study.slug, reference)
    annotator.refresh_from_db()
    return redirect(_address(study, annotator.pseudonym))


@never_cache
@require_GET
@login_required
def done(request: HttpRequest, slug: str, reference: str) -> HttpResponse:
    """What was done for a request, as a page, or with `?format=html` as a certificate to send."""
    study = get_study(request.user, slug, role=_OWNER)
    entry = personal_data.certificate_of(study, reference)
    if entry is None:
        raise Http404("no such request")
    name = entry.detail.get("rater", "")
    left = Annotator.objects.filter(study=study, pseudonym=name).first() if name else None
    context = {
        "study": study,
        "entry": entry,
        "left": left,
        "copies": personal_data.held(left) if left else [],
        "kept": personal_data.KEPT_AFTERWARDS,
        "query": urlencode({"rater": name}),
    }
    if request.GET.get("format") == "html":
        text = render_to_string("privacy/certificate.html", context)
        return _file(text, f"{study.slug}-certificate-{reference}", "html")
    return render(request, "privacy/done.html", context)
