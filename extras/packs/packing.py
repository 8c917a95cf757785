"""Writes a pack: the open questions of a run as files of requests.

Every request is in the ledger before its file exists, with its maximum cost. Its judgment is leased
to the pack, so that no worker asks it.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from extras.packs.batch_files import request_line
from extras.packs.folder import CustomId, RequestFiles, new_folder, write_manifest, write_readme
from extras.packs.models import Pack
from extras.packs.requests import count_in_budget, ledger_rows, sent_parameters, store_rows
from judging.backends.parameters import request_body
from judging.bias.probe_choices import probe_choice
from judging.engine.asker import seed_of
from judging.engine.interface import JudgeQuestion, Parameters
from judging.engine.messages import prompt_sha256
from judging.errors import BadRun, ConflictingValue, FailureReason
from judging.models import Judge, JudgeRun, Judgment, PromptTemplate
from judging.protocols.registry import protocol
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from judging.worker import chunks, run_states
from judging.worker.budgets import room_of
from judging.worker.chunks import questions_of
from judging.worker.endpoints import judge_of, kind_of, settings_of
from studies.media import media_types
from studies.models import Study
from studies.services.studies import forbids_providers, freeze, lock_study, record
from studies.statements import clock
from studies.version import version

FORMAT, FORMAT_VERSION = "thirdperson-pack", "1.0"
LEARNT = "pack_parameters"  # in the parameters of a run: those that were not refused
_PORTION = 2_000
_LEASE = timedelta(days=365 * 100)  # until the replies have been read or the pack is discarded

_NO_PACK = FailureReason(
    "no_pack",
    "Judge “{judge}” cannot be asked by {field}: packs need chat completions.",
)
_STEPS = FailureReason(
    "steps_in_pack",
    "Setting “{setting}” needs several requests for each judgment, each after the previous reply, "
    "which {field} does not allow. Choose another setting.",
)
_ANCHORS = FailureReason(
    "anchors_in_pack",
    "{field} has no start or end at which to ask {names[anchors]}. Leave out one of them.",
)
_MEDIA = FailureReason(
    "media_in_pack",
    "Items of this study have pictures or sounds, which {field} cannot include. Ask the judge from "
    "a worker, directly or by batch.",
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
_NO_ROOM = (
    "The remaining budget is too low for a request of a pack. Raise or remove the budget of the "
    "run."
)


def write_pack(spec: RunSpec, out: Path, *, user: User | None = None) -> Pack:
    """Create or continue the run of `spec`, and write its open questions to the folder `out`.

    Unanswered questions of earlier packs are packed again under the same names, so that replies to
    either pack can be imported. Raises `BadRun`, `BadJudge`, `StudyError` or `OSError`, leaving no
    rows and no folder.
    """
    judge = Judge.objects.get(pk=spec.judge_id)
    _check(spec, judge)

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


def _written(study_id: int, start: Callable[[], JudgeRun], out: Path, user: User | None) -> Pack:
    """Write the pack of the run that `start` prepares, in one transaction.

    The folder gets its name after the commit, because a pack unknown to its run cannot be read.
    """
    with new_folder(out) as draft, transaction.atomic():
        study = lock_study(study_id)
        run = start()
        pack = _pack(run, draft)
        freeze(study.pk)
        if run.wording_id is not None:
            words = PromptTemplate.objects.filter(pk=run.wording_id, frozen_at=None)
            words.update(frozen_at=clock.now())
        record(study, "pack written", user=user, run=run.public_id, requests=pack.requests)
    return pack


def may_pack(run: JudgeRun) -> bool:
    """Whether a pack of a stored run can be written, if it has open questions."""
    if run.is_imported or run.is_active or run.anchors or run.state == JudgeRun.State.CANCELLED:
        return False
    return run.judge.capabilities.batch and protocol(run.setting).steps == 1


def _check(spec: RunSpec, judge: Judge) -> None:
    if not judge.capabilities.batch:
        raise ConflictingValue("pack", _NO_PACK, judge=judge.name)
    if protocol(spec.setting).steps > 1 or probe_choice(spec.bias_probe).reflects:
        raise ConflictingValue("pack", _STEPS, setting=spec.setting)
    if spec.anchors:
        raise ConflictingValue("pack", _ANCHORS)
    if media_types(Study.objects.get(pk=spec.study_id)):
        raise ConflictingValue("pack", _MEDIA)


def _pack(run: JudgeRun, draft: Path) -> Pack:
    """Lease the open questions of a run to a new pack, and write their requests."""
    pack = Pack(run=run, requests=0)
    parameters = parameters_of(run)
    writing = _Writing(run, pack, draft)
    earlier = Pack.objects.filter(run=run, state=Pack.State.WAITING)
    _adopt_open_questions(run, pack, list(earlier.values_list("public_id", flat=True)), writing)
    has_room = True
    while has_room and (questions := _claim(run, pack)):
        has_room = _open(run, pack, questions, parameters)
        writing.add(questions[: pack.requests - writing.count], parameters)
    if not writing.count:
        raise BadRun(_NOTHING if has_room else _NO_ROOM)
    earlier.update(
        state=Pack.State.READ,
        sentence=f"Replaced by a pack of {writing.count:,} questions.",
        ended_at=clock.now(),
    )
    pack.save()
    writing.close(parameters)
    run_states.stop(run_id=run.pk, state=JudgeRun.State.PAUSED, sentence=WITH_PACK)
    return pack


def parameters_of(run: JudgeRun) -> Parameters:
    """The parameters of a pack's requests: all that are wanted and not refused."""
    if learnt := run.parameters.get(LEARNT):
        return Parameters(learnt)
    return kind_of(run.judge).intended_parameters(settings_of(judge_of(run)))


def _adopt_open_questions(
    run: JudgeRun, pack: Pack, earlier: list[str], writing: "_Writing"
) -> None:
    """Move unanswered questions of earlier packs to `pack`; they keep their names."""
    held = Judgment.objects.filter(run=run, state=Judgment.State.LEASED, lease__in=earlier)
    last = 0
    while some := list(
        held.filter(pk__gt=last).select_related("item__persona").order_by("pk")[:_PORTION]
    ):
        last = some[-1].pk
        Judgment.objects.filter(pk__in=[each.pk for each in some]).update(lease=pack.public_id)
        questions = questions_of(run, some)
        sent = sent_parameters(questions)
        for question in questions:
            writing.add([question], sent[question.id], is_open=True)
        pack.requests += len(questions)


def _claim(run: JudgeRun, pack: Pack) -> list[JudgeQuestion]:
    judgments = chunks.claim(run, pack.public_id, most=_PORTION, until=clock.now() + _LEASE)
    return questions_of(run, judgments)


def _open(
    run: JudgeRun, pack: Pack, questions: Sequence[JudgeQuestion], parameters: Parameters
) -> bool:
    """Store the requests that fit into the budgets; False if some do not fit."""
    judgments = Judgment.objects.filter(pk__in=[question.id for question in questions])
    rows = ledger_rows(run, pack.public_id, judgments)
    openings = [rows.opening(each, each.attempts + 1, parameters) for each in questions]
    fitting = count_in_budget(openings, room_of(run.pk))
    if store_rows(openings[:fitting]):
        raise BadRun(_NO_ROOM)
    left = [question.id for question in questions[fitting:]]
    run_states.release(Judgment.objects.filter(pk__in=left, lease=pack.public_id))
    pack.requests += fitting
    pack.most_nano += sum(opening.most_nano or 0 for opening in openings[:fitting])
    pack.most_tokens += sum(opening.most.total for opening in openings[:fitting])
    return not left


class _Writing:
    """The files of a pack being written."""

    def __init__(self, run: JudgeRun, pack: Pack, draft: Path) -> None:
        self._run, self._pack, self._draft = run, pack, draft
        self._files = RequestFiles(draft)
        self._requests: list[dict[str, Any]] = []

    @property
    def count(self) -> int:
        return len(self._requests)

    def add(
        self, questions: Sequence[JudgeQuestion], parameters: Parameters, *, is_open: bool = False
    ) -> None:
        """Write requests; if a question `is_open`, its last attempt instead of a new one."""
        found = Judgment.objects.filter(pk__in=[question.id for question in questions])
        rows = {
            pk: rest for pk, *rest in found.values_list("pk", "item__key", "shown_first", "sample")
        }
        for question in questions:
            digest = prompt_sha256(question.messages)
            name = CustomId.of(
                run=self._run.public_id,
                judgment=question.id,
                attempt=question.attempts + (not is_open),
                prompt_sha256=digest,
            )
            seed = seed_of(question)
            body = request_body(parameters.values, question, seed=seed)
            self._files.add(request_line(str(name), body))
            item, first, sample = rows[question.id]
            self._requests.append(
                {
                    "custom_id": str(name),
                    "item": item,
                    "shown_first": first,
                    "sample": sample,
                    "seed": seed if "seed" in body else None,
                    "prompt_sha256": digest,
                }
            )

    def close(self, parameters: Parameters) -> None:
        run, judge = self._run, self._run.judge
        may_leave = not forbids_providers(run.study)
        facts = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "pack": self._pack.public_id,
            "version": version(),
            "written_at": clock.now().isoformat(timespec="seconds"),
            "study": run.study.slug,
            "run": run.public_id,
            "run_key": run.key,
            "judge": judge.name,
            "model": judge.model,
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
            "parameters": dict(parameters.values),
            "may_leave_for_provider": may_leave,
        }
        write_manifest(self._draft, facts, self._files.close(), self._requests)
        write_readme(
            self._draft,
            study=run.study.slug,
            judge=judge.name,
            model=judge.model,
            count=len(self._requests),
            may_leave=may_leave,
        )
