"""Starting a run: the parameters by which it is found again, its questions, and its workers."""

import hashlib
import json
from dataclasses import replace
from decimal import Decimal
from functools import cache, partial
from importlib.metadata import version
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from judging import deliveries, tasks
from judging.backends.kinds import BACKENDS
from judging.backends.parameters import JSON_SCHEMA
from judging.bias.probe_choices import PROBES, probe_choice
from judging.bias.probes import FEATURE
from judging.errors import BadRun, ConflictingValue, FailureReason
from judging.models import Judge, JudgeRun, Judgment
from judging.prompts.asking import Asking, protocol_sha256, words_of_run
from judging.protocols import framings
from judging.protocols.registry import PROTOCOLS, protocol
from judging.protocols.statements import READING_VERSION
from judging.runs.judges import keep_exact
from judging.runs.request_conditions import FILMS
from judging.runs.reuse import reuse_answers
from judging.runs.row_creation import (
    RunStudyFacts,
    chosen_items,
    create_judgments,
    share_requests,
)
from judging.runs.spec import RunSpec, check_combination, language_for
from judging.selectors import has_replies
from judging.worker import run_states
from judging.worker.chunks import AFTER_PROBE
from judging.worker.endpoints import (
    asks_form,
    backend_maker,
    check_sharing,
    kind_of,
    settings_of,
)
from judging.worker.unread import unread_of
from studies import personas as feature_sets
from studies.media import is_film, keeper, media_types
from studies.models import Item, Study
from studies.services.extras import turn_on
from studies.services.studies import lock_study, record
from studies.statements import clock

# Parameters that a run names only if they are not the defaults.
_NOT_ALWAYS = ("model_options", "discusses", "reading", "reply_form")
EXTENDED_FIELDS = ("key", "samples", "orders", "parameters")

_NO_SUCH_RUN = FailureReason(
    "no_run_to_extend",
    "{field} needs exactly one run with fewer samples or one order, and otherwise the same "
    "parameters; there are {count}. Leave {field} out to start a separate run.",
)
_LARGER_RUN = FailureReason(
    "larger_run",
    "{field}: run {run} has {open} open questions about other items than the first {value}, and "
    "would ask them too. Leave {field} out to continue it, or choose another {names[seed]} for a "
    "separate run.",
)
_NO_FEATURE = FailureReason(
    "no_feature", "{field}: no persona has the feature “{feature}”. Use one of: {known}."
)
_OTHER_SETTING = FailureReason(
    "other_setting",
    "{field}: “{value}” is written for the setting “{setting}”, whose protocol reads its replies. "
    "Use that for {names[setting]}.",
)
_OTHER_RUN = (
    "A run with these parameters already exists, or the study's wording or the reading of "
    "replies has changed. Start a separate run instead."
)


def start_run(
    spec: RunSpec,
    *,
    probe: bool = False,
    enqueue: bool = True,
    asks_here: bool = True,
    facts: RunStudyFacts | None = None,
    user: User | None = None,
) -> JudgeRun:
    """Start a run, or continue the one with the same parameters.

    Judgments are created once per item, order and sample, in the order of the items' keys with
    those of one persona together, for all main items or the first `limit`. Answered ones stay,
    failed ones are asked again, and a larger limit or new items add new ones. With `probe` an
    inactive run asks one question and then waits, or only waits if it has replies. `enqueue` passes
    the work to the workers. Unless the run `asks_here`, its judge need not be reachable. `facts`
    are of the study, which the caller has locked. Raises `BadRun`, `BadJudge` or `StudyError`.
    """
    judge = Judge.objects.get(pk=spec.judge_id) if facts is None else facts.judge(spec.judge_id)
    spec.check(judge)
    keep_exact(judge)
    if asks_here:
        backend_maker(judge)
    with transaction.atomic():
        facts = facts or RunStudyFacts(lock_study(spec.study_id))
        study = facts.study
        probe_asked = probe_choice(spec.bias_probe).probe
        needed = PROBES.extra_of(probe_asked.name) if probe_asked else ""
        delivery = deliveries.by_batch() if spec.by_batch else None
        batches = deliveries.MORE.extra_of(delivery.name) if delivery else ""
        backends = BACKENDS.extra_of(judge.backend)
        turn_on(study, PROTOCOLS.extra_of(spec.setting), backends, needed, batches, user=user)
        _check_perspective(study)
        if asks_here:
            check_sharing(study, judge)
        run = run_for(study, judge, spec, facts=facts)
        if asks_here:
            used = client_versions(judge, by_batch=spec.by_batch)
            used = run.parameters.get("software", {}) | used
            run.parameters = run.parameters | {"software": used}
        is_new = run.pk is None
        run.save(update_fields=None if is_new else EXTENDED_FIELDS)
        facts.run_keys.add(run.key)
        questions = facts.questions(spec.limit)
        created = create_judgments(run, spec.limit, questions=questions, is_new=is_new)
        if created and protocol(run.setting).shares_requests:
            share_requests(run)
        reused = reuse_answers(run, spec.reuse, user=user)
        retried = 0 if is_new else retry_questions(run)
        is_running = run.state == JudgeRun.State.RUNNING and not run.probe_first
        wake(
            run,
            budget=spec.budget,
            token_budget=spec.token_budget,
            by_batch=spec.by_batch,
            probe=probe,
        )
        if created or retried:
            record(
                study,
                "judge run",
                user=user,
                run=run.public_id,
                judge=judge.name,
                created=created,
                retried=retried,
                reused=reused,
            )
        if enqueue and run.is_active and (created or retried or not is_running):
            queue_run(run)
    run_states.end_if_done(run_id=run.pk)
    run.refresh_from_db()
    return run


def _check_perspective(study: Study) -> None:
    if study.asks_own_answers:
        raise BadRun(
            f"In “{study.slug}” people answer for themselves, so there is no person to judge "
            "for. Start judges in a study where others predict these answers."
        )


def run_for(
    study: Study, judge: Judge, spec: RunSpec, *, facts: RunStudyFacts | None = None
) -> JudgeRun:
    """The run that has these parameters; a new, unstored one if there is none.

    With `spec.extend`, the one run that differs only in samples or orders is extended to it,
    without storing that here. `facts` are what several runs need to know of the study. Raises
    `BadRun` if there is no such run, or more than one.
    """
    features, setting, orders, samples = spec.features, spec.setting, spec.orders, spec.samples
    facts = facts or RunStudyFacts(study)
    keys = _feature_keys(features, facts)
    if keys and "," in features:
        features = ",".join(keys)
    seed = study.seed if spec.seed is None else spec.seed
    run = JudgeRun(
        study=study,
        judge=judge,
        setting=setting,
        features=features,
        feature_keys=keys,
        wording=facts.wording(spec.wording_id),
        framing=spec.framing,
        bias_probe=_probe_named(spec.bias_probe, facts),
        prompt_language=language_for(study, spec.prompt_language),
        reading=spec.reading,
        discusses=list(spec.discusses),
        orders=orders,
        samples=samples,
        seed=seed,
        touched_at=clock.now(),  # the recovery sweep ignores a run that was just created
    )
    if run.wording is not None and run.wording.setting != setting:
        raise ConflictingValue(
            "wording", _OTHER_SETTING, value=run.wording, setting=run.wording.setting
        )
    check_combination(run)
    asking = Asking.of(run)
    run.prompt_hash = words = asking.sha256(facts.tasks)
    asked: dict[str, Any] = {
        "study": study.slug,
        "judge": judge.name,
        "backend": judge.backend,
        "model": judge.model,
        "temperature": judge.temperature,
        "top_p": judge.top_p,
        "max_tokens": judge.max_tokens,
        "thinking_tokens": judge.thinking_tokens,
        "structured": _is_structured(run, spec),
        "probabilities": judge.probabilities,
        "own_sources": sorted(judge.own_sources),
        "setting": setting,
        "features": features,
        "feature_keys": keys,
        "persona_style": study.persona_style,
        "show_history": study.show_history,
        "orders": orders,
        "samples": samples,
        "seed": seed,
        "prompts": words,
    }
    if asked["structured"] and (way := settings_of(judge).reply_form) != JSON_SCHEMA:
        asked["reply_form"] = way
    of_address = kind_of(judge).options_of_address
    options = {n: v for n, v in judge.model_options.items() if n not in of_address}
    if options:
        asked["model_options"] = options
    if spec.discusses:
        asked["discusses"] = list(spec.discusses)
    if (
        spec.reading != JudgeRun.Reading.LENIENT
    ):  # an older run without a value continues as it started
        asked["reading"] = spec.reading
    key = parameters_key(asked)
    run.parameters = {**asked, "reading_version": READING_VERSION}
    run.parameters["protocol_sha256"] = protocol_sha256(run)
    if key in facts.run_keys:
        stored = JudgeRun.objects.select_related("judge", "study").get(key=key)
        if spec.extend and protocol_sha256(stored) != run.parameters["protocol_sha256"]:
            raise BadRun(_OTHER_RUN)
        _check_limit(stored, spec.limit)
        return stored
    run.key = key
    if spec.extend:
        return _extended(study, judge, asked, key, run.parameters["protocol_sha256"])
    # The model's server and the texts behind the prompt hash belong to the record and do not define
    # a different run.
    run.parameters |= {"base_url": judge.base_url, **_words_of(run, asking)}
    if judge.structured is None and judge.reply_form:
        run.parameters["form_found"] = judge.reply_form
    run.parameters |= {n: v for n, v in judge.model_options.items() if n in of_address}
    run.words = words_of_run(run, facts.tasks)
    if judge.more_base_urls:
        run.parameters["more_base_urls"] = judge.more_base_urls
    if any(map(is_film, media_types(study))):
        run.parameters[FILMS] = keeper().of_films
    return run


def _check_limit(run: JudgeRun, limit: int | None) -> None:
    """Refuse a limit that a run with open questions about further items would not keep."""
    if limit is None:
        return
    items = Item.objects.filter(pk__in=chosen_items(run.study, limit).values("pk"))
    states = (*Judgment.OPEN, Judgment.State.ERROR)
    count = Judgment.objects.filter(run=run, state__in=states).exclude(item__in=items).count()
    if count:
        raise ConflictingValue("limit", _LARGER_RUN, run=run.public_id, open=count, value=limit)


def _is_structured(run: JudgeRun, spec: RunSpec) -> bool:
    """Whether a new run requests its replies in a form.

    A judge that is set to ask where the server can is asked for text by protocols without a form,
    and in the wording of another study, which asked for text.
    """
    has_form = protocol(run.setting).has_form
    if spec.structured is not None:
        return spec.structured and has_form
    if run.judge.structured is not None:
        return run.judge.structured
    is_recovered = run.wording is not None and run.wording.source == run.wording.Source.RECOVERED
    return has_form and not is_recovered and asks_form(run.judge)


def _probe_named(words: str, facts: RunStudyFacts) -> str:
    """A probe's name as stored with runs. Raises `FieldError` if the study does not support it."""
    choice = probe_choice(words)
    needs = choice.probe is not None and choice.probe.option_name == FEATURE
    if needs and choice.option not in facts.feature_keys:
        known = ", ".join(sorted(facts.feature_keys)) or "none"
        raise ConflictingValue("bias_probe", _NO_FEATURE, feature=choice.option, known=known)
    return choice.name


def _words_of(run: JudgeRun, asking: Asking) -> dict[str, Any]:
    """The sources of a run's prompts that are not the protocol's own."""
    words: dict[str, Any] = {"prompt_language": run.prompt_language}
    if run.wording is not None:
        words["wording"] = {
            "name": run.wording.name,
            "version": run.wording.version,
            "sha256": run.wording.sha256,
        }
    if run.framing != framings.OBSERVER:
        words["framing"] = run.framing
    if asking.probing is not None:
        words["bias_probe"] = asking.probing.record
    return words


def _feature_keys(features: str, facts: RunStudyFacts) -> list[str] | None:
    if features in ("all", "none"):
        return feature_sets.resolve(facts.study, features)
    return feature_sets.resolve(
        facts.study, features, known=facts.feature_keys, own=facts.feature_sets
    )


def client_versions(judge: Judge, *, by_batch: bool) -> dict[str, str]:
    """Versions of the packages that send the questions to a judge.

    A model in this process reports its own packages with every answer; a replay has none.
    """
    delivery = deliveries.by_batch() if by_batch else None
    packages = kind_of(judge).packages + (delivery.packages if delivery else ())
    return {name: _version(name) for name in packages}


@cache
def _version(package: str) -> str:
    """Cached, because reading a version opens a file at each start of a run."""
    return version(package)


def extended(run: JudgeRun, spec: RunSpec) -> JudgeRun:
    """`run` with more samples or both orders; nothing is stored.

    Raises `BadRun` if it cannot continue as it began.
    """
    try:
        same = run_for(run.study, run.judge, replace(spec, extend=True))
    except BadRun:
        same = None
    if same is None or same.pk != run.pk:
        raise BadRun(_OTHER_RUN)
    return same


def _extended(
    study: Study, judge: Judge, asked: dict[str, Any], key: str, protocol: str
) -> JudgeRun:
    """The run that differs only in samples or orders, changed to what `asked` describes."""
    differs = {"samples", "orders"}
    named = {*asked, *_NOT_ALWAYS} - differs
    matches = [
        run
        for run in JudgeRun.objects.select_related("judge", "study").filter(
            study=study, judge=judge, is_imported=False
        )
        if all(run.parameters.get(name) == asked.get(name) for name in named)
        and protocol_sha256(run) == protocol
        and run.samples <= asked["samples"]
        and asked["orders"] in {run.orders, JudgeRun.Orders.BOTH}
    ]
    if len(matches) != 1:
        raise ConflictingValue("extend", _NO_SUCH_RUN, count=len(matches))
    (run,) = matches
    run.key, run.samples, run.orders = key, asked["samples"], asked["orders"]
    run.parameters |= {name: asked[name] for name in differs}
    return run


def parameters_key(parameters: dict[str, Any]) -> str:
    """A hash of a set of parameters; the run's name in reports."""
    text = json.dumps(parameters, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def wake(
    run: JudgeRun,
    *,
    budget: Decimal | None = None,
    token_budget: int | None = None,
    by_batch: bool,
    probe: bool = False,
) -> None:
    """Queue a run that ended with open questions; store the given budgets.

    Uses conditional UPDATEs of single columns, because the writer changes others concurrently.
    """
    same = JudgeRun.objects.filter(pk=run.pk)
    values: dict[str, Any] = {"by_batch": by_batch}
    if budget is not None:
        values["budget"] = budget
    if token_budget is not None:
        values["token_budget"] = token_budget
    if not probe:
        values["probe_first"] = False
    same.update(**values)
    if Judgment.everything.filter(run=run, state__in=Judgment.OPEN).exists():
        idle = same.exclude(state=JudgeRun.State.RUNNING)
        if run.state != JudgeRun.State.CANCELLED:
            # If somebody has cancelled it since it was read, it stays cancelled.
            idle = idle.exclude(state=JudgeRun.State.CANCELLED)
        if unread_of(run):
            idle = idle.exclude(state=JudgeRun.State.PAUSED)  # until somebody agrees
        if probe and has_replies(run.pk):
            idle.update(state=JudgeRun.State.PAUSED, sentence=AFTER_PROBE)
        else:
            idle.update(state=JudgeRun.State.QUEUED, sentence="", ended_at=None, probe_first=probe)
    run.refresh_from_db()


def retry_questions(run: JudgeRun) -> int:
    """Ask failed questions again; return how many."""
    failed = Judgment.objects.filter(run=run, state=Judgment.State.ERROR)
    return failed.update(state=Judgment.State.PENDING, error="")


def queue_run(run: JudgeRun) -> None:
    delivery = deliveries.by_batch()
    if run.by_batch and not run.probe_first and delivery is not None:
        transaction.on_commit(partial(delivery.queue, run.pk))
        return
    tasks.call_workers(run)
