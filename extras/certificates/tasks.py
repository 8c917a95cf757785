"""Tasks for the worker: certificates and labels that were requested on a page.

Pages queue these tasks, so modules that compute are imported when a task runs.
"""

from collections.abc import Mapping
from typing import Any

from analysis.errors import AnalysisError
from extras.certificates.models import Certificate, Labelling
from studies.jobs.retry import tidy_jobs
from studies.jobs.runner import JobProgress, carry_out
from studies.jobs.shared_tasks import shared_task

_WISH = ("judge", "run", "signal", "target", "error", "confidence", "among", "by")


@shared_task
def certify_judge(certificate_id: int) -> None:
    """Certify a judge; safe to run twice."""
    carry_out(Certificate, certificate_id, _certify, expected=(AnalysisError,))


@shared_task
def label_items(labelling_id: int) -> None:
    """Label a study's items by a certificate; safe to run twice."""
    carry_out(Labelling, labelling_id, _label, expected=(AnalysisError,))


@shared_task
def tidy() -> None:
    """Restart jobs that a killed worker left behind."""
    tidy_jobs(Certificate, certify_judge)
    tidy_jobs(Labelling, label_items)


def _certify(job: Certificate, progress: JobProgress) -> Mapping[str, Any]:
    from extras.certificates.certifying import CertificateWish, certify

    progress(10, "Reading the study.")
    done = certify(job.study, CertificateWish(**{name: getattr(job, name) for name in _WISH}))
    certified = done.found
    return {
        "by": done.by,
        "passport": done.passport.text() if done.passport else "",
        "result": {
            "sentence": done.sentence,
            "needed": done.needed,
            "threshold": certified.threshold,
            "coverage": certified.coverage,
            "n": certified.n,
            "largest_p": certified.delta / certified.n_judges,
            "tested": [vars(step) for step in certified.tested],
        },
    }


def _label(job: Labelling, progress: JobProgress) -> Mapping[str, Any]:
    from analysis.passports import read_passport
    from extras.certificates.labelling import label

    progress(10, "Reading the study.")
    labels = label(job.certificate.study, read_passport(job.certificate.passport))
    return {
        "sentence": labels.sentence,
        "lines": [
            [line.item, line.choice, line.judged, line.signal, line.reason] for line in labels.lines
        ],
    }
