"""The certificates of a study that a report shows."""

import datetime as dt
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any

from analysis.data.arrays import Dataset, DesignData
from analysis.data.extras import ExtraReader
from extras.certificates.models import Certificate, Labelling
from judging.models import JudgeRun
from studies.jobs.models import Job
from studies.models import Study


@dataclass(frozen=True)
class CertificateFacts:
    """A certificate of a run, or a refusal.

    Attributes
    ----------
    run : str
        The run in `Dataset.runs` that it is about.
    signal, target : str
        The requested names.
    error, confidence : float
        Shares in (0, 1).
    among : int
        Number of certificates that the requester chooses from.
    by : str
        What counts equally in the share of errors: ``"item"`` or ``"persona"``.
    made_on : str
        The date (UTC).
    threshold : float or None
        The value of the signal from which answers are accepted; None if it was refused.
    n : int
        Items drawn for certification.
    coverage : float or None
        Share of those that the threshold accepts; None if it was refused.
    needed : int or None
        After a refusal, labelled items that would be enough; None if no number is.
    labelled, items : int or None
        Items with a label, and all items, at the last labelling; None if never labelled.
    passport : str
        Checksum of the passport; empty if it was refused.
    is_current : bool
        Whether the study still has the same items.
    """

    run: str
    signal: str
    target: str
    error: float
    confidence: float
    among: int
    by: str
    made_on: str
    threshold: float | None
    n: int
    coverage: float | None
    needed: int | None
    labelled: int | None
    items: int | None
    passport: str
    is_current: bool


@dataclass(frozen=True)
class Certificates(DesignData):
    """Certificates about a report's runs, and the number computed in the study."""

    about_runs: tuple[CertificateFacts, ...]
    computed: int

    @property
    def digest(self) -> Any:
        return asdict(self)


def certificates_of(
    study: Study, data: Dataset, position: Mapping[int, int]
) -> Certificates | None:
    """The computed certificates of a study; None if there are none.

    Those about runs that are not in the data, such as deleted ones, are only counted.
    """
    runs = data.runs
    rows = list(Certificate.objects.filter(study=study, state=Job.State.DONE))
    if not rows:
        return None
    keys = dict(JudgeRun.objects.filter(study=study).values_list("public_id", "key"))
    names = Counter(run.judge for run in runs if run.is_jury)
    juries = {run.judge: run.run for run in runs if run.is_jury and names[run.judge] == 1}
    known = {run.run for run in runs}
    labels = _labels(rows)
    facts = []
    for row in rows:
        run = keys.get(row.run) if row.run else juries.get(row.judge)
        if run is not None and run in known:
            facts.append(_facts(row, run, study, labels.get(row.pk, (None, None))))
    return Certificates(tuple(sorted(facts, key=lambda one: repr(astuple(one)))), len(rows))


def _labels(certificates: Sequence[Certificate]) -> dict[int, tuple[int, int]]:
    """Numbers of labelled items and all items, for each certificate that was used to label."""
    done = Labelling.objects.filter(certificate__in=certificates, state=Job.State.DONE)
    return {
        certificate: (sum(not reason for *_, reason in lines), len(lines))
        for certificate, lines in done.values_list("certificate_id", "lines").iterator()
    }


def _facts(
    row: Certificate, run: str, study: Study, labels: tuple[int | None, int | None]
) -> CertificateFacts:
    outcome: Mapping[str, Any] = row.result or {}
    passport: Mapping[str, Any] = json.loads(row.passport) if row.passport else {}
    # A refusal has no passport, so its items are unknown; its number of items says enough.
    then = passport["study"]["content_hash"] if passport else study.content_hash
    day = row.finished_at or row.created_at
    return CertificateFacts(
        run=run,
        signal=row.signal,
        target=row.target,
        error=row.error,
        confidence=row.confidence,
        among=row.among,
        by=row.by,
        made_on=day.astimezone(dt.UTC).date().isoformat(),
        threshold=outcome["threshold"],
        n=outcome["n"],
        coverage=outcome["coverage"] if row.passport else None,
        needed=outcome["needed"],
        labelled=labels[0],
        items=labels[1],
        passport=passport.get("checksum", ""),
        is_current=then == study.content_hash,
    )


CERTIFICATES = ExtraReader("certificates", certificates_of)
