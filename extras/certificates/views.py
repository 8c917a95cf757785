"""Pages for certificates: request, result, labels, and a study for the rest."""

from collections.abc import Iterator
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from analysis.errors import AnalysisError
from analysis.passports import read_passport
from extras.certificates.labels import COLUMNS, Division, LabelRow, route_rest
from extras.certificates.models import BY, Certificate, Labelling
from extras.certificates.tasks import certify_judge, label_items
from judging.selectors import labels_of
from studies.errors import StudyError
from studies.jobs.models import WAITING, Job
from studies.jobs.retry import Retry, job_status, same_job
from studies.models.studies import Membership, Study
from studies.pages.listing import role_of
from studies.pages.new_study_form import NewStudyForm
from studies.pages.responses import csv_response
from studies.pages.settings_views import MAY_CREATE
from studies.pages.workbench import SectionPage
from studies.selectors import get_study
from studies.services.studies import lock_study, record
from studies.services.whole_studies import StudyContent

_SIGNALS = (
    ("stated", "Stated certainty"),
    ("probabilities", "Probability of its answer"),
    ("native", "Native probability of its answer"),
    ("agreement", "Agreement of its readings, or of the judges of a jury"),
    ("orders", "Agreement in the less favourable order"),
    ("entropy", "Preference entropy over both orders"),
    ("stated*agreement", "Stated certainty × agreement"),
    ("stated*probabilities", "Stated certainty × probability"),
)
_TARGETS = (
    ("first_person", "The personas’ own answers"),
    ("majority", "The majority of annotators"),
)


class CertificateForm(forms.Form):
    judge = forms.ChoiceField(label="Judge", help_text="A run of a judge, or a jury.")
    signal = forms.ChoiceField(
        label="Signal",
        choices=_SIGNALS,
        help_text="A number for each answer. The certificate gives the lowest value to accept.",
    )
    target = forms.ChoiceField(
        label="Right answer", choices=_TARGETS, help_text="What the judge is compared with."
    )
    by = forms.ChoiceField(
        label="Share of wrong answers",
        choices=[("", "As the design has it"), *BY],
        required=False,
        help_text=(
            "What counts equally. By the design: items if all personas have as many, otherwise "
            "personas. Choose items to label all of them, personas if every person matters equally."
        ),
    )
    error = forms.FloatField(
        label="Error",
        initial=10,
        min_value=0.1,
        max_value=90,
        help_text="Highest percentage of accepted answers that may be wrong.",
    )
    confidence = forms.FloatField(
        label="Confidence",
        initial=90,
        min_value=50,
        max_value=99.9,
        help_text="Percent.",
    )
    among = forms.IntegerField(
        label="Chosen from",
        initial=1,
        min_value=1,
        max_value=1000,
        help_text="How many judges, signals and errors you try before you choose one. The "
        "guarantee allows for it.",
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.choices = juries_and_runs(study)
        self.fields["judge"].choices = [  # type: ignore[attr-defined]
            (value, label) for value, label, *_ in self.choices
        ]

    def wish(self) -> dict[str, Any]:
        """What is to be certified."""
        chosen = self.cleaned_data
        judge, run = next(
            (judge, run) for value, _, judge, run in self.choices if value == chosen["judge"]
        )
        return {
            "judge": judge,
            "run": run,
            "signal": chosen["signal"],
            "target": chosen["target"],
            "error": round(chosen["error"] / 100, 6),
            "confidence": round(chosen["confidence"] / 100, 6),
            "among": chosen["among"],
            "by": chosen["by"],
        }


class RouteForm(NewStudyForm):
    answered_too = forms.BooleanField(
        label="Include items that people have already answered", required=False
    )


def juries_and_runs(study: Study) -> list[tuple[str, str, str, str]]:
    """Judges that can be certified: value, label, name and run.

    A jury has no run.
    """
    rows = study.judge_runs.filter(bias_probe="", probe_first=False)
    rows = rows.select_related("judge", "wording")
    runs = list(rows.order_by("judge__name", "setting", "features", "pk"))
    labels = labels_of(runs)
    choices = [(run.public_id, labels[run.pk], run.judge.name, run.public_id) for run in runs]
    juries = study.juries.order_by("name").values_list("name", flat=True)
    return choices + [(f"jury {name}", f"{name} (jury)", name, "") for name in juries]


@transaction.atomic
def request_certificate(*, study_id: int, user: User, **wish: Any) -> Certificate:
    """Queue a certificate, or return the same request if it is being computed."""
    study = lock_study(study_id)
    same = Certificate.objects.filter(study=study, state__in=Job.OPEN, **wish)
    if open_job := same_job(same, certify_judge):
        return open_job
    job = Certificate.objects.create(study=study, requested_by=user, **wish)
    record(study, "certificate requested", user=user, certificate=job.public_id)
    certify_judge.delay_on_commit(job.pk)  # type: ignore[attr-defined]
    return job


@transaction.atomic
def request_labels(*, certificate: Certificate, user: User) -> Labelling:
    """Label, or label again, the items of a certificate's study."""
    lock_study(certificate.study_id)
    jobs = Labelling.objects.filter(certificate=certificate)
    if open_job := same_job(jobs.filter(state__in=Job.OPEN), label_items):
        return open_job
    jobs.delete()
    job = Labelling.objects.create(certificate=certificate, requested_by=user, message=WAITING)
    label_items.delay_on_commit(job.pk)  # type: ignore[attr-defined]
    return job


def division_of(job: Labelling) -> Division:
    """The labels that a worker stored."""
    passport = read_passport(job.certificate.passport)
    return Division(job.certificate.study.slug, passport, [LabelRow(*line) for line in job.lines])


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
    job = request_certificate(study_id=study.pk, user=_user(request), **form.wish())
    return redirect("certificates:show", slug, job.public_id)


@require_GET
@login_required
def show(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Show the progress of a certificate, or its result and next steps."""
    certificate = _certificate(request, slug, public_id)
    return _page(request, certificate)


@require_GET
@login_required
def status(request: HttpRequest, slug: str, public_id: str) -> JsonResponse:
    """Show the progress that the page polls: of the certificate, then of the labels."""
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
    request_labels(certificate=certificate, user=_user(request))
    return redirect("certificates:show", slug, public_id)


@require_GET
@login_required
def labels(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Send the labels as CSV."""
    division = division_of(_labelled(_certified(request, slug, public_id)))
    rows = (row.values() for row in division.rows())
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
            draft = route_rest(certificate.study, division_of(job), by=user, **form.cleaned_data)
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
    outcome: dict[str, Any] = certificate.result or {}
    address = reverse("certificates:list", args=[study.slug])
    may_edit = role_of(request.user, study) != Membership.Role.VIEWER
    context = {
        "study": study,
        "certificate": certificate,
        "labelling": job,
        "found": outcome,
        "tested": outcome.get("tested", [])[-_SHOWN:],
        "left_out": max(0, len(outcome.get("tested", [])) - _SHOWN),
        "form": form or RouteForm(initial={"slug": proposed}),
        "retry": Retry(address, "Request another certificate", is_link=True),
        "retry_labels": Retry(
            reverse("certificates:show", args=[study.slug, certificate.public_id]),
            "Label again" if job else "Label items",
            fields={"action": "label"},
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
    """A certificate with a passport."""
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


def pages_of(study: Study) -> list[SectionPage]:
    return [SectionPage("report", "Certificates", reverse("certificates:list", args=[study.slug]))]


def content_of(study: Study) -> StudyContent:
    certificates = Certificate.objects.filter(study=study)
    return StudyContent([("certificates", certificates.count())], [*needed(study)])


def needed(study: Study) -> Iterator[str]:
    """What has to end before certificates can be turned off, or the study be deleted."""
    certificates = Certificate.objects.filter(study=study)
    labels = Labelling.objects.filter(certificate__study=study)
    if any(jobs.filter(state__in=Job.OPEN).exists() for jobs in (certificates, labels)):
        yield "A certificate or its labels are being computed. Wait until they are finished."
