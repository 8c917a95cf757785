"""Certificates of a study's judges: request, result, labels, and a study for the rest."""

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from analysis.errors import AnalysisError
from extras.certificates import requests
from extras.certificates.forms import CertificateForm, RouteForm
from extras.certificates.labels import COLUMNS, route_rest
from extras.certificates.models import Certificate, Labelling
from studies.errors import StudyError
from studies.jobs.models import Job
from studies.jobs.pages import Retry, job_status
from studies.models.studies import Membership, Study
from studies.pages.csv_response import csv_response
from studies.pages.listing import role_of
from studies.pages.settings_views import MAY_CREATE
from studies.selectors import get_study

_SHOWN = 60  # tested thresholds; all of them are in the passport


@require_GET
@login_required
def list_certificates(request: HttpRequest, slug: str) -> HttpResponse:
    """List the certificates of judges in the study, and their labellings."""
    study = get_study(request.user, slug)
    return _list(request, study, CertificateForm(study=study))


@require_POST
@login_required
def create(request: HttpRequest, slug: str) -> HttpResponse:
    """Certify a judge."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    form = CertificateForm(request.POST, study=study)
    if not form.is_valid():
        return _list(request, study, form, status=422)
    job = requests.request_certificate(study_id=study.pk, user=_user(request), **form.wish())
    return redirect("certificates:show", slug, job.public_id)


@require_GET
@login_required
def show(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Show the progress of a certificate, or its result and what it can be used for."""
    certificate = _certificate(request, slug, public_id)
    return _page(request, certificate)


@require_GET
@login_required
def status(request: HttpRequest, slug: str, public_id: str) -> JsonResponse:
    """Show the progress that the page fetches; that of the labels once it is certified."""
    certificate = _certificate(request, slug, public_id)
    return job_status(certificate if certificate.is_open else _labelling(certificate))


@require_GET
@login_required
def passport(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Download the passport of a certificate."""
    certificate = _certified(request, slug, public_id)
    response = HttpResponse(certificate.passport, content_type="application/json; charset=utf-8")
    name = f"{certificate.study.slug}-passport.json"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_POST
@login_required
def label(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Label the items that a certificate allows."""
    certificate = _certified(request, slug, public_id, role=Membership.Role.EDITOR)
    requests.request_labels(certificate=certificate, user=_user(request))
    return redirect("certificates:show", slug, public_id)


@require_GET
@login_required
def labels(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Send the labels as CSV."""
    found = requests.labels_of(_labelled(_certified(request, slug, public_id)))
    rows = (row.values() for row in found.rows())
    return csv_response(f"{slug}-labels", COLUMNS, rows)


@require_POST
@login_required
def route(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Create a draft with the items that the certificate leaves to people."""
    certificate = _certified(request, slug, public_id, role=Membership.Role.EDITOR)
    user = _user(request)
    if not user.has_perm(MAY_CREATE):
        raise PermissionDenied
    job = _labelled(certificate)
    form = RouteForm(request.POST)
    if form.is_valid():
        try:
            draft = route_rest(
                certificate.study, requests.labels_of(job), by=user, **form.cleaned_data
            )
        except ValidationError as error:
            form.add_error("slug", " ".join(error.messages))
        except (StudyError, AnalysisError) as error:
            form.add_error("slug", str(error))
        else:
            messages.success(request, "The new study is a draft with the items left to people.")
            return redirect("studies:detail", draft.slug)
    return _page(request, certificate, form, status=422)


def _list(
    request: HttpRequest, study: Study, form: CertificateForm, *, status: int = 200
) -> HttpResponse:
    context = {
        "study": study,
        "form": form,
        "certificates": Certificate.objects.filter(study=study).defer("passport"),
        "may_certify": role_of(request.user, study) != Membership.Role.VIEWER,
    }
    return render(request, "certificates/list.html", context, status=status)


def _page(
    request: HttpRequest,
    certificate: Certificate,
    form: RouteForm | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    study, job = certificate.study, _labelling(certificate)
    proposed = f"{study.slug[:54]}-rest"
    found: dict[str, Any] = certificate.result or {}
    address = reverse("certificates:list", args=[study.slug])
    may_edit = role_of(request.user, study) != Membership.Role.VIEWER
    context = {
        "study": study,
        "certificate": certificate,
        "labelling": job,
        "found": found,
        "tested": found.get("tested", [])[-_SHOWN:],
        "left_out": max(0, len(found.get("tested", [])) - _SHOWN),
        "form": form or RouteForm(initial={"slug": proposed}),
        "status_url": reverse("certificates:status", args=[study.slug, certificate.public_id]),
        "retry": Retry(address, "Request another certificate", is_link=True),
        "retry_labels": Retry(
            reverse("certificates:label", args=[study.slug, certificate.public_id]),
            "Label again" if job else "Label items",
        ),
        "tried": Certificate.objects.filter(study=study).count(),
        "may_edit": may_edit,
        "may_route": may_edit and _user(request).has_perm(MAY_CREATE),
    }
    return render(request, "certificates/certificate.html", context, status=status)


def _certificate(
    request: HttpRequest, slug: str, public_id: str, *, role: str = Membership.Role.VIEWER
) -> Certificate:
    study = get_study(request.user, slug, role=role)
    certificates = Certificate.objects.filter(study=study).select_related("study")
    return get_object_or_404(certificates, public_id=public_id)


def _certified(
    request: HttpRequest, slug: str, public_id: str, *, role: str = Membership.Role.VIEWER
) -> Certificate:
    """A certificate that has a passport."""
    certificate = _certificate(request, slug, public_id, role=role)
    if not certificate.passport:
        raise Http404("Nothing was certified.")
    return certificate


def _labelling(certificate: Certificate) -> Labelling | None:
    return Labelling.objects.filter(certificate=certificate).defer("lines").first()


def _labelled(certificate: Certificate) -> Labelling:
    jobs = Labelling.objects.select_related("certificate__study")
    return get_object_or_404(jobs, certificate=certificate, state=Job.State.DONE)


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)
