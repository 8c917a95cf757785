"""Writes a pack: the open questions of a run as a folder of files of requests."""

import hashlib
import json
from collections.abc import Callable
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from analysis.errors import ExportError
from extras.packs import lines
from extras.packs.ledger import NO_ROOM, is_anything_waiting, lease_questions, open_requests
from extras.packs.models import Pack
from judging.bias.probe_choices import probe_choice
from judging.engine.interface import Parameters
from judging.errors import BadRun, ConflictingValue, FailureReason
from judging.models import Judge, JudgeRun, Judgment, PromptTemplate
from judging.protocols.registry import protocol
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from judging.worker import run_states
from judging.worker.endpoints import judge_of, kind_of, settings_of
from studies.services.studies import forbids_providers, freeze, lock_study, record
from studies.statements import clock
from studies.version import version

FORMAT, FORMAT_VERSION = "thirdperson-pack", "1.0"
LEARNT = "pack_parameters"  # in the parameters of a run: those that were not refused
_PORTION = 2_000

_NO_PACK = FailureReason(
    "no_pack",
    "Judge “{judge}” cannot be asked by {field}: packs need chat completions.",
)
_STEPS = FailureReason(
    "steps_in_pack",
    "Setting “{setting}” needs several requests for each judgment, each after the previous reply, "
    "which {field} does not allow. Choose another setting.",
)
WITH_PACK = (
    "Waiting for the replies to a pack. Its questions are not asked here. Import the replies, or "
    "discard the pack to ask here instead."
)
_BUSY = (
    "Workers are asking this run. Before you write a pack, pause the run and wait for the replies "
    "in progress."
)
_NOTHING = "Every question of this run has been answered. There is nothing to pack."


def write_pack(spec: RunSpec, out: Path, *, user: User | None = None) -> Pack:
    """Create or continue the run of `spec`, and write its open questions to the folder `out`.

    Unanswered questions of earlier packs are packed again under the same names, so that replies to
    either pack can be imported. Raises `BadRun`, `BadJudge`, `StudyError` or `OSError`, leaving no
    rows and no folder.
    """
    _check(spec, Judge.objects.get(pk=spec.judge_id))

    def start() -> JudgeRun:
        running = dict(JudgeRun.objects.filter(study=spec.study_id).values_list("pk", "state"))
        run = start_run(spec, enqueue=False, asks_here=False, user=user)
        if running.get(run.pk) in JudgeRun.ACTIVE:
            raise BadRun(_BUSY)
        return run

    return _written(spec.study_id, start, out, user)


def pack_run(run: JudgeRun, out: Path, *, user: User | None = None) -> Pack:
    """Write the open and failed questions of a stored run, as `write_pack` does."""
    _check(RunSpec.of(run), run.judge)

    def wake() -> JudgeRun:
        Judgment.objects.filter(run=run.pk, state=Judgment.State.ERROR).update(
            state=Judgment.State.PENDING, error=""
        )
        resting = JudgeRun.objects.filter(pk=run.pk).exclude(state__in=JudgeRun.ACTIVE)
        changed = {"state": JudgeRun.State.QUEUED, "sentence": "", "ended_at": None}
        if not resting.update(**changed, probe_first=False, by_batch=False):
            raise BadRun(_BUSY)
        return JudgeRun.objects.select_related("judge", "study").get(pk=run.pk)

    return _written(run.study_id, wake, out, user)


def may_pack(run: JudgeRun) -> bool:
    """Whether a pack of a stored run can be written, if it has open questions."""
    if run.is_imported or run.is_active or run.state == JudgeRun.State.CANCELLED:
        return False
    return run.judge.capabilities.batch and protocol(run.setting).steps == 1


def parameters_of(run: JudgeRun) -> Parameters:
    """The parameters of a pack's requests: all that are wanted and not refused."""
    if learnt := run.parameters.get(LEARNT):
        return Parameters(learnt)
    return kind_of(run.judge).intended_parameters(settings_of(judge_of(run)))


def _check(spec: RunSpec, judge: Judge) -> None:
    if not judge.capabilities.batch:
        raise ConflictingValue("pack", _NO_PACK, judge=judge.name)
    if protocol(spec.setting).steps > 1 or probe_choice(spec.bias_probe).reflects:
        raise ConflictingValue("pack", _STEPS, setting=spec.setting)


def _written(study_id: int, start: Callable[[], JudgeRun], out: Path, user: User | None) -> Pack:
    """Write the pack of the run that `start` prepares, in one transaction.

    The folder gets its name after the commit, because a pack unknown to its run cannot be read.
    """
    # Here, because it loads the analysis, which the help of commands does not need.
    from analysis.exports.bundle import new_folder

    try:
        with new_folder(out, private=True) as draft, transaction.atomic():
            study = lock_study(study_id)
            run = start()
            pack = _lease(run)
            _write(run, pack, draft)
            run_states.stop(run_id=run.pk, state=JudgeRun.State.PAUSED, sentence=WITH_PACK)
            freeze(study.pk)
            if run.wording_id is not None:
                words = PromptTemplate.objects.filter(pk=run.wording_id, frozen_at=None)
                words.update(frozen_at=clock.now())
            record(study, "pack written", user=user, run=run.public_id, requests=pack.requests)
    except ExportError as error:
        raise BadRun(str(error)) from error
    return pack


def _lease(run: JudgeRun) -> Pack:
    """A new pack of all open questions of a run, also of those in earlier packs."""
    pack = Pack(run=run, requests=0)
    earlier = Pack.objects.filter(run=run, is_batch=False, state=Pack.State.WAITING)
    held = Judgment.objects.filter(
        run=run, state=Judgment.State.LEASED, lease__in=earlier.values("public_id")
    )
    pack.requests = held.update(lease=pack.public_id)
    while lease_questions(run, pack, parameters_of(run), most=_PORTION):
        pass
    if not pack.requests:
        raise BadRun(NO_ROOM if is_anything_waiting(run) else _NOTHING)
    earlier.update(
        state=Pack.State.READ,
        sentence=f"Replaced by a pack of {pack.requests:,} questions.",
        ended_at=clock.now(),
    )
    pack.save()
    return pack


def _write(run: JudgeRun, pack: Pack, draft: Path) -> None:
    """Write the files of requests, what is needed to read the replies, and instructions."""
    requests: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    name, size = "", 0
    with ExitStack() as files:
        for request in chain.from_iterable(open_requests(run, pack)):
            line = request.line
            if not name or counts[name] >= lines.MAX_REQUESTS or size + len(line) > lines.MAX_BYTES:
                files.close()
                name, size = f"requests-{len(counts) + 1:03d}.jsonl", 0
                counts[name] = 0
                stream = files.enter_context((draft / name).open("wb"))
            stream.write(line)
            size += len(line)
            counts[name] += 1
            judgment = request.judgment
            requests.append(
                {
                    "custom_id": str(request.name),
                    "item": judgment.item.key,
                    "shown_first": judgment.shown_first,
                    "sample": judgment.sample,
                    "seed": request.seed,
                    "prompt_sha256": judgment.prompt_sha256,
                }
            )
    if len(counts) == 1:
        (draft / name).rename(draft / "requests.jsonl")
        counts = {"requests.jsonl": counts[name]}
    may_leave = not forbids_providers(run.study)
    facts = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "pack": pack.public_id,
        "version": version(),
        "written_at": clock.now().isoformat(timespec="seconds"),
        "study": run.study.slug,
        "run": run.public_id,
        "run_key": run.key,
        "judge": run.judge.name,
        "model": run.judge.model,
        "setting": run.setting,
        "reading": run.reading,
        "framing": run.framing,
        "bias_probe": run.bias_probe,
        "language": run.prompt_language,
        "features": run.features,
        "orders": run.orders,
        "samples": run.samples,
        "seed": run.seed,
        "prompts": run.prompt_hash,
        "parameters": dict(parameters_of(run).values),
        "may_leave_for_provider": may_leave,
        "files": [_about(draft / name, count) for name, count in counts.items()],
        "requests": requests,
    }
    (draft / "manifest.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")
    words = _README.format(
        study=run.study.slug,
        judge=run.judge.name,
        model=run.judge.model,
        count=f"{len(requests):,}",
        permission="" if may_leave else _FORBIDDEN,
    )
    (draft / "README.txt").write_text(words, encoding="utf-8")


def _about(path: Path, requests: int) -> dict[str, Any]:
    data = path.read_bytes()
    sha256 = hashlib.sha256(data).hexdigest()
    return {"name": path.name, "requests": requests, "bytes": len(data), "sha256": sha256}


_FORBIDDEN = """\

THE ITEMS OF THIS STUDY MUST NOT BE SENT TO A PROVIDER. Answer the requests on your own machines. An
owner of the study can change this on its settings page.
"""
_README = """\
A pack of requests to a language model
======================================

Study “{study}”, judge “{judge}” (model {model}): {count} requests.

These files contain texts of the study and personal data from its profiles. Protect them like the
study’s own data. They contain no keys.
{permission}
  requests*.jsonl  one request a line, in the format of OpenAI’s Batch API
  manifest.json    which run asks what: parameters, and item, order, seed and prompt hash of
                   each request

What to do
----------
1. Get answers to the requests from one of these:
   - vLLM on your own machines:
       vllm run-batch -i requests.jsonl -o replies.jsonl --model {model}
   - a provider’s batch service: upload each requests file, start a batch of it, and download the
     file of answers and the file of errors.
   - another program that reads this format. It has to write each reply with the custom_id of its
     request.
2. Do not change the requests. A reply to a different prompt is refused.
3. Import the replies on the page of the run, or with:
       manage.py import_judgments {study} replies.jsonl --raw

Replies are read as if they had come over the network. A reply without a choice leaves its question
open: write another pack, which has only the open questions. Importing a file twice changes nothing.
"""
