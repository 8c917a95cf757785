"""Packs on a page: a worker writes them, and reads uploaded replies."""

import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from config.operations.stored_files import KindOfFiles
from extras.packs.models import Pack, PackJob
from extras.packs.packing import pack_run
from extras.packs.reading import import_raw
from judging.errors import JudgingError
from judging.models import JudgeRun
from studies.errors import StudyError
from studies.file_storage.storage import Stored
from studies.importers.files.bundle import file_at
from studies.importers.files.faults import STOPPED, Refused
from studies.importers.uploads import write_uploads
from studies.jobs.retry import same_job
from studies.jobs.runner import JobProblem, JobProgress, carry_out
from studies.models import Study
from studies.services.whole_studies import StudyContent
from studies.statements import clock

FILES = KindOfFiles("packs", "Packs and replies to them", (PackJob,))
ARCHIVE = "pack.zip"
KEPT = timedelta(days=7)  # how long a pack can be downloaded
_STORING = 5  # percent: the files have been read
_EXPECTED = (StudyError, JudgingError, OSError)


def folder_of(job: PackJob) -> Stored:
    return Stored(f"packs/{job.public_id}")


def archive_of(job: PackJob) -> Stored:
    return folder_of(job) / ARCHIVE


def request_pack(run: JudgeRun, *, task: Any, user: User) -> PackJob:
    """Let a worker write the open questions of a run; asking twice writes them once."""
    jobs = PackJob.objects.filter(run=run, kind=PackJob.Kind.WRITE, state__in=PackJob.OPEN)
    if (job := same_job(jobs, task)) is not None:
        return job
    return PackJob.objects.create(run=run, kind=PackJob.Kind.WRITE, requested_by=user)


def keep_replies(uploads: Sequence[UploadedFile], *, run: JudgeRun, user: User) -> PackJob:
    """Keep uploaded files of raw replies for a worker; the caller queues the job."""
    job = PackJob(run=run, kind=PackJob.Kind.READ, requested_by=user)
    with folder_of(job).replacing() as draft:
        job.files = [path.name for path in write_uploads(uploads, draft)]
    job.save()
    return job


def run_job(*, job_id: int) -> PackJob:
    """Do a queued job, then delete its files of replies."""
    try:
        return carry_out(PackJob, job_id, _work, expected=_EXPECTED)
    finally:
        job = PackJob.objects.get(pk=job_id)
        if not job.is_open and (job.kind == PackJob.Kind.READ or job.state == job.State.FAILED):
            folder_of(job).delete()


def _work(job: PackJob, progress: JobProgress) -> dict[str, Any]:
    if job.kind == PackJob.Kind.WRITE:
        return _write(job, progress)
    try:
        return _read(job, progress)
    except Refused as error:
        stopped = f" {STOPPED.strip()}" if error.is_cut else ""
        faults = [asdict(fault) for fault in error.faults]
        raise JobProblem(f"The files have faults.{stopped}", faults=faults) from error


def _write(job: PackJob, progress: JobProgress) -> dict[str, Any]:
    progress(_STORING, "Writing the requests.")
    name = f"pack-{job.run.public_id}"
    with folder_of(job).replacing() as draft:
        pack = pack_run(job.run, draft / name, user=job.requested_by)
        archive = shutil.make_archive(str(draft / "draft"), "zip", draft, name)
        Path(archive).rename(draft / ARCHIVE)
        shutil.rmtree(draft / name)
    return {
        "message": f"The pack holds {pack.requests:,} requests.",
        "expires_at": clock.now() + KEPT,
    }


def _read(job: PackJob, progress: JobProgress) -> dict[str, Any]:
    progress(0, "Reading the files.")

    def on_stored(done: int, total: int) -> None:
        share = (100 - _STORING) * done // max(1, total)
        progress(min(99, _STORING + share), f"Storing replies: {done:,} of {total:,}.")

    run = job.run
    with folder_of(job).local() as folder:
        files = [file_at(folder / name) for name in job.files]
        result = import_raw(
            study_id=run.study_id,
            files=files,
            user=job.requested_by,
            on_stored=on_stored,
        )
    if result.runs and set(result.runs) != {run.public_id}:
        others = len(set(result.runs) - {run.public_id})
        return {"message": f"{result} Some belong to {others} other runs of the study."}
    return {"message": str(result)}


def _under_way(study: Study) -> Iterator[str]:
    if PackJob.objects.filter(run__study=study, state__in=PackJob.OPEN).exists():
        yield "A pack is being written or read. Wait until this has ended."


def content_of(study: Study) -> StudyContent:
    jobs = PackJob.objects.filter(run__study=study)
    return StudyContent(obstacles=[*_under_way(study)], folders=[folder_of(job) for job in jobs])


def needed(study: Study) -> Iterator[str]:
    """What has to end before packs and batches can be turned off."""
    yield from _under_way(study)
    packs = Pack.objects.filter(run__study=study, state__in=Pack.OPEN)
    if packs.filter(is_batch=False).exists():
        yield "A pack waits for replies. Import them, or discard the pack on the page of its run."
    runs = JudgeRun.objects.filter(study=study, by_batch=True, state__in=JudgeRun.ACTIVE)
    if packs.filter(is_batch=True).exists() or runs.exists():
        yield "A batch is with a provider. Wait until its results are collected."


def delete_packs(study: Study, items: Collection[int]) -> None:
    """Delete a study's packs that wait to be downloaded; their questions can be packed again.

    Packs that somebody downloaded must be deleted by them.
    """
    for job in PackJob.objects.filter(run__study=study, kind=PackJob.Kind.WRITE):
        transaction.on_commit(folder_of(job).delete)
