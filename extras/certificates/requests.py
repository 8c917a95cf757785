"""Requests of certificates and labels on pages, which workers compute with `tasks`."""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from extras.certificates.labels import Division, LabelRow
from extras.certificates.models import Certificate, Labelling
from extras.certificates.passports import read_passport
from extras.certificates.tasks import certify_judge, label_items
from studies.jobs.models import WAITING, Job
from studies.jobs.retry import same_job
from studies.services.studies import lock_study, record


@transaction.atomic
def request_certificate(*, study_id: int, user: User, **wish: Any) -> Certificate:
    """Queue a certificate, or return the one with the same wish that is being computed."""
    study = lock_study(study_id)
    same = Certificate.objects.filter(study=study, state__in=Job.OPEN, **wish)
    if found := same_job(same, certify_judge):
        return found
    job = Certificate.objects.create(study=study, requested_by=user, **wish)
    record(study, "certificate requested", user=user, certificate=job.public_id)
    certify_judge.delay_on_commit(job.pk)  # type: ignore[attr-defined]
    return job


@transaction.atomic
def request_labels(*, certificate: Certificate, user: User) -> Labelling:
    """Label the items of a certificate's study, or again if that is done."""
    lock_study(certificate.study_id)
    jobs = Labelling.objects.filter(certificate=certificate)
    if found := same_job(jobs.filter(state__in=Job.OPEN), label_items):
        return found
    jobs.delete()
    job = Labelling.objects.create(certificate=certificate, requested_by=user, message=WAITING)
    label_items.delay_on_commit(job.pk)  # type: ignore[attr-defined]
    return job


def labels_of(job: Labelling) -> Division:
    """The labels that a worker stored."""
    passport = read_passport(job.certificate.passport)
    return Division(job.certificate.study.slug, passport, [LabelRow(*line) for line in job.lines])
