"""A worker's part: certificates and labels that were requested on a page."""

from collections.abc import Mapping
from typing import Any

from analysis.errors import AnalysisError
from analysis.models import Certificate, Labelling
from analysis.passports.certifying import Wish, certify
from analysis.passports.document import read_passport
from analysis.passports.labelling import label
from studies.jobs.runner import Progress, carry_out

_WISH = ("judge", "run", "signal", "target", "error", "confidence", "among", "by")


def certify_queued(*, certificate_id: int) -> Certificate:
    """Compute a queued certificate and store its passport."""
    return carry_out(Certificate, certificate_id, _certify, expected=(AnalysisError,))


def _certify(job: Certificate, progress: Progress) -> Mapping[str, Any]:
    progress(10, "Reading the study.")
    done = certify(job.study, Wish(**{name: getattr(job, name) for name in _WISH}))
    found = done.found
    return {
        "passport": done.passport.text() if done.passport else "",
        "result": {
            "sentence": done.sentence,
            "needed": done.needed,
            "threshold": found.threshold,
            "coverage": found.coverage,
            "n": found.n,
            "largest_p": found.delta / found.n_judges,
            "tested": [vars(step) for step in found.tested],
        },
    }


def label_queued(*, labelling_id: int) -> Labelling:
    """Divide the study of a queued labelling by its certificate."""
    return carry_out(Labelling, labelling_id, _label, expected=(AnalysisError,))


def _label(job: Labelling, progress: Progress) -> Mapping[str, Any]:
    progress(10, "Reading the study.")
    labels = label(job.certificate.study, read_passport(job.certificate.passport))
    return {
        "sentence": labels.sentence,
        "lines": [
            [line.item, line.choice, line.judged, line.signal, line.reason] for line in labels.lines
        ],
    }
