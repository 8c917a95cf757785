"""The work of an improvement: learn wordings, judge them with cross-fitting, try the best once."""

from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import QuerySet, Sum

from analysis.report.report_json import Json, put, put_interval
from analysis.stats.comparison.general_difference import general_difference
from analysis.stats.core.results import relabel
from analysis.stats.core.shared_variance import Sharing
from extras.improving.learning import Learner, with_lesson
from extras.improving.models import (
    FOLDS,
    LEARN,
    SEALED,
    WHOLE,
    GuidelineRequest,
    Improvement,
    LearnedFrom,
    LearnedWording,
)
from extras.improving.parts import (
    ItemInPart,
    answers_of_people,
    changed,
    chosen_to_judge,
    credit,
    hash_of,
    of_part,
    verdicts_of,
)
from extras.improving.prompts import guidelines, messages_for_guidelines
from extras.improving.stats import TriedWording, try_wordings
from judging.errors import JudgingError
from judging.models import NANO, Campaign, JudgeRun, Judgment, PromptTemplate
from judging.models.job_requests import FAILED, WAITING
from judging.prompts.asking import tasks_of_items
from judging.protocols.framings import framing
from judging.runs import lifecycle
from judging.runs.row_creation import RunStudyFacts
from judging.runs.spec import Reuse, RunSpec
from judging.runs.start import start_run
from judging.wordings import MOST_LETTERS, newest_wording
from judging.worker.job_requests import ask_waiting
from studies.errors import StudyError
from studies.jobs.runner import JobProblem, JobProgress, carry_out
from studies.models import Item
from studies.services.studies import lock_study, record
from studies.statements import clock
from studies.texts.normalisation import digest

_FOLDS = (*range(1, FOLDS + 1), WHOLE)
_FEWEST_CASES = 2  # of a request for guidelines
_AFTER_GUIDELINES, _AFTER_LEARNING, _BEFORE_COUNT = 10, 65, 97  # percent of the work

# Why nothing is learned of a kind, in all folds or in one: a wording needs all of them.
_WHY_NOT = {
    LearnedFrom.EXAMPLES: "the judge errs on too few items, or the wording is too long with them",
    LearnedFrom.GUIDELINES: "the judge errs on too few items, or the wording is too long with them",
    LearnedFrom.RULES: "people follow no measured rule clearly more, or less, often than the judge",
    LearnedFrom.FIELDS: "the judge’s errors hardly differ between values of the persona’s fields",
}


def run_improvement(*, improvement_id: int) -> Improvement:
    """Do what a queued improvement has not done yet."""
    return carry_out(Improvement, improvement_id, _work, expected=(StudyError, JudgingError))


def _work(improvement: Improvement, progress: JobProgress) -> Mapping[str, Any]:
    items = [ItemInPart(*row) for row in improvement.parts]
    if improvement.opened_at is None:
        _check_unchanged(improvement, items)
        learner = Learner(improvement)
        if not improvement.wordings.exists():
            _ask_for_guidelines(improvement, learner, progress)
            _store_wordings(improvement, learner)
        chosen = chosen_to_judge(items, improvement.items)
        learned = _judge_folds(improvement, chosen, progress)
        gains = {one["kind"]: one["learned"] for one in learned if (one["learned"] or 0) > 0}
        if not gains:
            return _done(improvement, items, learned, {})
        improvement.results = {"candidates": learned}
        _open(improvement, items, sorted(gains, key=lambda kind: -gains[kind])[: improvement.most])
    tried = _try(improvement, of_part(items, SEALED), progress)
    return _done(improvement, items, improvement.results["candidates"], tried)


def _check_unchanged(improvement: Improvement, items: Sequence[ItemInPart]) -> None:
    """Raise `JobProblem` if people's answers are not those that were split."""
    people = answers_of_people(improvement.study, improvement.annotator)
    parts = ((LEARN, improvement.learn_sha256), (SEALED, improvement.sealed_sha256))
    if all(hash_of(of_part(items, part), people) == sha256 for part, sha256 in parts):
        return
    others = {part: len(list(changed(of_part(items, part), people))) for part, _ in parts}
    raise JobProblem(
        "People’s answers have changed since they were split on "
        f"{improvement.created_at:%-d %B %Y, %H:%M} UTC: the right answer is another one for "
        f"{others[LEARN]:,} items to learn from and {others[SEALED]:,} sealed ones, and the others "
        "have more or fewer answers. The sealed part was not opened. Start a new improvement when "
        "people have finished."
    )


def _ask_for_guidelines(improvement: Improvement, learner: Learner, progress: JobProgress) -> None:
    if LearnedFrom.GUIDELINES not in improvement.kinds:
        return
    if not improvement.requests.exists():
        GuidelineRequest.objects.bulk_create(
            GuidelineRequest(job=improvement, fold=fold, items=cases)
            for fold in range(FOLDS + 1)
            if (cases := learner.cases_to_ask_about(fold))
        )
    while True:
        ask_waiting(
            improvement,
            improvement.requests.all(),
            messages=lambda request: messages_for_guidelines(learner.cases_of(request.items)),
            reply=guidelines(),
            progress=lambda done, total: progress(
                _AFTER_GUIDELINES * done // total, f"Asking for guidelines: {done:,} of {total:,}."
            ),
        )
        # A server refuses what does not fit into its context: show half as many cases then.
        refused = [
            request
            for request in improvement.requests.filter(state=FAILED, reply="")
            if len(request.items) > _FEWEST_CASES
        ]
        if not refused:
            return
        for request in refused:
            fewer = request.items[: max(_FEWEST_CASES, len(request.items) // 2)]
            failed = improvement.requests.filter(pk=request.pk, state=FAILED)
            failed.update(items=fewer, state=WAITING)


@transaction.atomic
def _store_wordings(improvement: Improvement, learner: Learner) -> None:
    """Store every wording, all at once: of each fold, and of the whole part."""
    study, run = lock_study(improvement.study_id), improvement.run
    shows_persona = run.feature_keys != [] and framing(run.framing).shows_profile
    field = "template" if shows_persona else "template_without_persona"
    usual = learner.asking.words_of(tasks_of_items(study)[0], persona=shows_persona).template
    exact = run.wording.exact_texts if run.wording else {}
    for kind, lessons in _lessons(improvement, learner).items():
        name = _free_name(improvement, kind)
        learned = [with_lesson(lessons[fold], usual) for fold in _FOLDS]
        if max(map(len, learned)) > MOST_LETTERS:
            continue
        # The one for use is the newest version.
        for version, (fold, text) in enumerate(zip(_FOLDS, learned, strict=True), 1):
            texts = {"template": "", "template_without_persona": "", field: text}
            stored = PromptTemplate.objects.create(
                study=study,
                name=name,
                version=version,
                setting=run.setting,
                exact_texts=exact,
                sha256=digest([run.setting, *texts.values(), exact]),
                note=_note(improvement, fold),
                **texts,
            )
            LearnedWording.objects.create(
                improvement=improvement, kind=kind, fold=fold, wording=stored
            )


def _lessons(improvement: Improvement, learner: Learner) -> dict[str, dict[int, str]]:
    """What each kind teaches, by fold; a kind from which nothing is learned in some is left out."""
    taught: dict[str, dict[int, str]] = {}
    for kind in improvement.kinds:
        if kind != LearnedFrom.TOGETHER:
            lessons = {fold: learner.lesson(kind, fold) for fold in _FOLDS}
            if all(lessons.values()):
                taught[kind] = lessons
        elif len(taught) > 1:
            alone = list(taught.values())
            taught[kind] = {fold: "\n\n".join(one[fold] for one in alone) for fold in _FOLDS}
    return taught


def _free_name(improvement: Improvement, kind: str) -> str:
    number = Improvement.objects.filter(study=improvement.study_id, pk__lte=improvement.pk).count()
    while newest_wording(improvement.study, name := f"learned {number}: {kind}"):
        number += 1
    return name


def _note(improvement: Improvement, fold: int) -> str:
    where = "the whole part" if fold == WHOLE else f"the part without fold {fold}"
    return f"Learned from {where} of people’s answers; improvement {improvement.public_id}."


def _judge_folds(
    improvement: Improvement, chosen: Sequence[ItemInPart], progress: JobProgress
) -> list[Json]:
    """Judge each fold with wordings learned from the others; what each kind gains there."""
    wordings = list(improvement.wordings.exclude(fold=WHOLE).select_related("wording", "run"))
    gains: dict[str, dict[str, float]] = {one.kind: {} for one in wordings}
    base = verdicts_of(improvement.run)
    for n, learned in enumerate(wordings):
        own = [item for item in chosen if item.fold == learned.fold]
        percent = _AFTER_GUIDELINES + (_AFTER_LEARNING - _AFTER_GUIDELINES) * n // len(wordings)
        verdicts = _judged(improvement, learned, own, partial(progress, percent))
        for item in own:
            after = credit(verdicts.get(item.key), item.right)
            gains[learned.kind][item.key] = after - credit(base.get(item.key), item.right)
    return [_learned(improvement, kind, by_item, chosen) for kind, by_item in gains.items()]


def _learned(
    improvement: Improvement,
    kind: str,
    gains: Mapping[str, float],
    chosen: Sequence[ItemInPart],
) -> Json:
    whole = improvement.wordings.select_related("wording").get(kind=kind, fold=WHOLE)
    gain = general_difference([gains[item.key] for item in chosen], _sharing(improvement, chosen))
    entry: Json = {"kind": kind, "wording": whole.wording.reference}
    entry |= {"sha256": whole.wording.sha256, "learned_n": len(chosen)}
    put(entry, "learned", gain.value, gain.reason)
    put_interval(entry, "learned_ci", gain.interval, gain.reason or gain.interval_reason)
    return entry


def _judged(
    improvement: Improvement,
    learned: LearnedWording,
    items: Sequence[ItemInPart],
    say: Callable[[str], None],
) -> dict[str, dict[str, object]]:
    """The verdicts with a wording on some items, asked by an ordinary run of these items alone."""
    if not items:
        return {}
    spec = RunSpec.of(
        improvement.run, wording_id=learned.wording_id, by_batch=False, reuse=Reuse.IDENTICAL
    )
    with transaction.atomic():
        facts = RunStudyFacts(lock_study(improvement.study_id), items={item.item for item in items})
        run = start_run(spec, enqueue=False, facts=facts)
        if learned.run_id is None:
            # A try-out: to have the wording in the report, ask about all items with it.
            lifecycle.leave_out_run(run_id=run.pk)
            LearnedWording.objects.filter(pk=learned.pk).update(run=run)
        _keep_budget(improvement, run)
    where = f"on {len(items):,} {'sealed ' if learned.is_named else ''}items"
    lifecycle.work_off(
        run_id=run.pk, on_wait=lambda: say(f"Judging with “{learned.wording}” {where}.")
    )
    run.refresh_from_db()
    if run.state != JudgeRun.State.DONE:
        raise JobProblem(
            f"{run.sentence or 'A worker is processing a run of this improvement.'} Wordings and "
            "judgments received so far are kept; continue the improvement to ask the rest."
        )
    return verdicts_of(run)


def _keep_budget(improvement: Improvement, run: JudgeRun) -> None:
    """Let the run share what guidelines have left of the budget with the other runs."""
    campaign = improvement.campaign
    if campaign is None or improvement.budget is None:
        return
    used = improvement.requests.aggregate(nano=Sum("spent_nano", default=0))["nano"]
    left = improvement.budget - Decimal(used) / NANO
    if left <= 0:
        raise JobProblem(
            "The budget is used up. Continue the improvement with a higher one; what was received "
            "is kept."
        )
    Campaign.objects.filter(pk=campaign.pk).update(budget=left)
    campaign.runs.add(run)


@transaction.atomic
def _open(improvement: Improvement, items: Sequence[ItemInPart], named: Sequence[str]) -> None:
    """Name the wordings to try, and open the sealed part for this judge."""
    study = lock_study(improvement.study_id)
    _check_unchanged(improvement, items)
    improvement.opened_at = clock.now()
    improvement.opening = _opened_before(improvement).count() + 1
    improvement.save(update_fields=["opened_at", "opening", "results"])
    whole = improvement.wordings.filter(fold=WHOLE, kind__in=named)
    whole.update(is_named=True)
    record(
        study,
        "sealed part opened",
        user=improvement.requested_by,
        run=improvement.run.key,
        sealed_sha256=improvement.sealed_sha256,
        opening=improvement.opening,
        wordings=list(whole.values_list("wording__sha256", flat=True)),
    )


def _opened_before(improvement: Improvement) -> QuerySet[Improvement]:
    """Earlier improvements of the study that opened a sealed part for the same judge.

    Those of other people opened other answers.
    """
    return Improvement.objects.filter(
        study=improvement.study_id,
        run__judge=improvement.run.judge_id,
        annotator=improvement.annotator,
        pk__lt=improvement.pk,
    ).exclude(opened_at=None)


def _earlier(improvement: Improvement) -> list[float]:
    """The p values of wordings that were tried for the same judge before."""
    tried = [one for other in _opened_before(improvement) for one in other.results["candidates"]]
    return [one["p"] for one in tried if one.get("p") is not None]


def _try(
    improvement: Improvement, sealed: Sequence[ItemInPart], progress: JobProgress
) -> dict[str, Json]:
    """The named wordings against the usual one on the sealed part, by kind."""
    named = list(improvement.wordings.filter(is_named=True).select_related("wording", "run"))
    base = verdicts_of(improvement.run)
    usual = np.array([credit(base.get(item.key), item.right) for item in sealed])
    rows = []
    for n, learned in enumerate(named):
        percent = _AFTER_LEARNING + (_BEFORE_COUNT - _AFTER_LEARNING) * n // len(named)
        verdicts = _judged(improvement, learned, sealed, partial(progress, percent))
        rows.append([credit(verdicts.get(item.key), item.right) for item in sealed])
    results = try_wordings(
        rows, usual, _sharing(improvement, sealed), earlier=_earlier(improvement)
    )
    return {
        learned.kind: _tried(one, row, usual)
        for learned, one, row in zip(named, results, rows, strict=True)
    }


def _tried(wording: TriedWording, after: Sequence[float], usual: Any) -> Json:
    entry: Json = {"before": float(usual.mean()), "after": float(np.mean(after))}
    entry["changed"] = float(np.mean(np.asarray(after) != usual))
    gap = wording.difference
    reason = gap.reason or gap.interval_reason
    put(entry, "difference", gap.value, gap.reason)
    put_interval(entry, "ci", gap.interval, reason)
    put(entry, "p", gap.p, reason)
    put(entry, "p_holm", wording.p_holm, reason)
    return entry | {"is_better": wording.is_better}


def _sharing(improvement: Improvement, items: Sequence[ItemInPart]) -> Sharing:
    """The personas and questions of items."""
    name = "persona__key" if improvement.annotator else "question"
    stored = Item.objects.filter(pk__in=[item.item for item in items])
    other = dict(stored.values_list("pk", name))
    units = relabel(np.array([item.persona for item in items]))[0]
    others = relabel(np.array([other.get(item.item, "") for item in items]))[0]
    # What was split is the question in one, and the persona in the other.
    kinds = ("question", "persona") if improvement.annotator else ("persona", "question")
    return Sharing.of_items(len(items), dict(zip(kinds, (units, others), strict=True)))


def _done(
    improvement: Improvement,
    items: Sequence[ItemInPart],
    learned: Sequence[Json],
    tried: Mapping[str, Json],
) -> Mapping[str, Any]:
    candidates = [{**one, **tried.get(one["kind"], {})} for one in learned]
    better = [one for one in candidates if one.get("is_better")]
    best = max(better, key=lambda one: one["difference"], default=None)
    results = {
        "candidates": candidates,
        "better": best["kind"] if best else "",
        "learn_n": len(of_part(items, LEARN)),
        "sealed_n": len(of_part(items, SEALED)),
        "sealed_personas": len({item.persona for item in of_part(items, SEALED)}),
        "has_moved": _has_moved(improvement),
        "earlier_tried": len(_earlier(improvement)),
        "not_learned": _not_learned(improvement, {one["kind"] for one in learned}),
    }
    return {"results": results, "message": message_of(results)}


def _has_moved(improvement: Improvement) -> bool:
    """Whether learned wordings were judged by another version of the model than the usual one."""
    learned = improvement.wordings.exclude(run=None).values_list("run", flat=True)
    named = Judgment.objects.exclude(model_snapshot="").order_by()
    own, others = (
        {*named.filter(run__in=runs).values_list("model_snapshot", flat=True)}
        for runs in ([improvement.run_id], learned)
    )
    return bool(own and others - own)


def _not_learned(improvement: Improvement, learned: Collection[str]) -> list[str]:
    """Why there is no wording of some of the kinds that were wanted, a phrase each."""
    phrases = []
    for kind in improvement.kinds:
        if kind in learned or kind == LearnedFrom.TOGETHER:
            continue
        why = _WHY_NOT[kind]
        failed = improvement.requests.filter(state=FAILED)
        if kind == LearnedFrom.GUIDELINES and (last := failed.last()):
            n, of = failed.count(), improvement.requests.count()
            why = f"{n} of {of} requests failed, the last with “{last.error[:200]}”"
        phrases.append(f"{LearnedFrom(kind).label} ({why})")
    return phrases


def message_of(results: Mapping[str, Any]) -> str:
    """What came out, in a sentence."""
    if results["better"]:
        names = {one["kind"]: one["wording"] for one in results["candidates"]}
        return f"The wording “{names[results['better']]}” was shown to be better."
    tried = sum("difference" in one for one in results["candidates"])
    if not results["candidates"]:
        return (
            "No wording was shown to be better: nothing could be learned, so the sealed part was "
            f"not opened. Not learned: {'; '.join(results['not_learned'])}."
        )
    if not tried:
        return (
            "No wording was shown to be better: none gained anything on the part to learn from, so "
            "the sealed part was not opened."
        )
    return f"No wording was shown to be better ({tried} tried on the sealed part)."
