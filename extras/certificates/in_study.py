"""What a study has of certificates: a page under Report, and rows that are deleted with it."""

from django.urls import reverse

from extras.certificates.models import Certificate, Labelling
from studies.jobs.models import Job
from studies.models.studies import Study
from studies.pages.workbench.registry import SectionPage, register_pages, section_pages
from studies.services.whole_studies import removal
from studies.services.whole_studies.removal import StudyContent


def pages_of(study: Study) -> list[SectionPage]:
    return [SectionPage("report", "Certificates", reverse("certificates:list", args=[study.slug]))]


def content_of(study: Study) -> StudyContent:
    certificates = Certificate.objects.filter(study=study)
    labels = Labelling.objects.filter(certificate__study=study)
    obstacles = []
    if any(jobs.filter(state__in=Job.OPEN).exists() for jobs in (certificates, labels)):
        obstacles.append("A certificate or its labels are being computed. Wait until that ended.")
    return StudyContent([("certificates", certificates.count())], obstacles)


def register() -> None:
    section_pages.register(pages_of)
    register_pages("report", "certificates:")
    removal.register(content_of)
