"""Extend existing runs, or copy their answers."""

import hashlib
import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from importlib.metadata import version
from itertools import islice
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Q, Sum

from judging import deliveries
from judging.backends.parameters import JSON_SCHEMA
from judging.bias.probes import FEATURE
from judging.bias.registry import probe_choice
from judging.engine.messages import prompt_sha256
from judging.errors import BadRun, ConflictingValue, FailureReason
from judging.models import NANO, Attempt, Judge, JudgeRun, Judgment
from judging.prompts.asking import Asking, protocol_sha256, words_of_run
from judging.protocols import framings
from judging.protocols.reading import READING_VERSION
from judging.protocols.registry import protocol
from judging.runs.row_creation import RunStudyFacts
from judging.runs.spec import Reuse, RunSpec, check_combination, language_for
from judging.worker.endpoints import asks_form, kind_of, settings_of
from studies import personas as feature_sets
from studies.models import Choice, Item, Side, Study
from studies.selectors import studies_for
from studies.statements import clock

# Parameters that a run names only if they are not the defaults.
_NOT_ALWAYS = ("model_options", "discusses", "anchors", "reading", "reply_form")
EXTENDED_FIELDS = ("key", "samples", "orders", "parameters")

_NO_SUCH_RUN = FailureReason(
    "no_run_to_extend",
    "{field} needs exactly one run with fewer samples or one order, and otherwise the same "
    "parameters; there are {count}. Leave {field} out to start a separate run.",
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
        anchors=spec.anchors,
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
    if spec.anchors:
        asked["anchors"] = spec.anchors
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
    return run


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
    found = [
        run
        for run in JudgeRun.objects.select_related("judge", "study").filter(
            study=study, judge=judge, is_imported=False
        )
        if all(run.parameters.get(name) == asked.get(name) for name in named)
        and protocol_sha256(run) == protocol
        and run.samples <= asked["samples"]
        and asked["orders"] in {run.orders, JudgeRun.Orders.BOTH}
    ]
    if len(found) != 1:
        raise ConflictingValue("extend", _NO_SUCH_RUN, count=len(found))
    (run,) = found
    run.key, run.samples, run.orders = key, asked["samples"], asked["orders"]
    run.parameters |= {name: asked[name] for name in differs}
    return run


def parameters_key(parameters: dict[str, Any]) -> str:
    """A hash of a set of parameters; the run's name in reports."""
    text = json.dumps(parameters, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


_COPIED = (
    "state",
    "certainty",
    "details",
    "earlier_replies",
    "raw_text",
    "model_snapshot",
    "fingerprint",
    "sent_with",
    "answered_at",
)
_TURNED = ("choice", "probabilities")  # named by responses, which can be swapped
_PORTION = 500


def reuse_answers(run: JudgeRun, reuse: Reuse, *, user: User | None = None) -> int:
    """Answer open questions of `run` from other runs; return how many."""
    taken = take_over(run, never_asked(run), reuse, user=user)
    fields = [*_COPIED, *_TURNED, "prompt_sha256", "reused_from"]
    Judgment.objects.bulk_update(taken, fields, batch_size=_PORTION)
    return len(taken)


def never_asked(run: JudgeRun) -> Iterable[Judgment]:
    return Judgment.objects.filter(run=run.pk, state=Judgment.State.PENDING, attempts=None)


def take_over(
    run: JudgeRun, waiting: Iterable[Judgment], reuse: Reuse, *, user: User | None = None
) -> list[Judgment]:
    """Fill in answers of other runs, and return the changed judgments; nothing is stored here.

    Only an answer to the same prompt at the same address, of a run whose `protocol_sha256` is the
    same, is used; with `Reuse.IDENTICAL` also only one that had the same
    seed, unless the temperature is 0. An answer is used once in a run: two samples never share
    one. `user` takes answers only of studies that they may see.
    """
    sources = _sources_of(run, user)
    asked = protocol(run.setting)
    # A reply about a set answers several judgments, and its options can be numbered differently
    # there. A prompt that continues from the judge's own reply does not show it.
    if reuse == Reuse.FRESH or not sources or asked.shares_requests or asked.needs_others:
        return []
    found = Judgment.objects.filter(run=run.pk).exclude(reused_from=None)
    used = set(found.values_list("reused_from", flat=True)) if run.pk else set()
    same_seed = reuse == Reuse.IDENTICAL and run.judge.temperature > 0
    taken = []
    questions = _questions(run, waiting)
    while some := list(islice(questions, _PORTION)):
        answers = _answers_to({question.prompt for question in some}, sources, used)
        for question in some:
            source = question.answer_among(answers[question.prompt], same_seed=same_seed)
            if source is not None:
                used.add(source.pk)
                taken.append(question.answered_by(source))
    return taken


@dataclass(frozen=True, slots=True)
class _Unanswered:
    """A waiting judgment, with its prompt hash and the parts of its seed."""

    judgment: Judgment
    prompt: str
    seed: tuple[Any, ...]

    def answer_among(self, answers: deque[Judgment], *, same_seed: bool) -> Judgment | None:
        """The first answer that can be used; it is removed from `answers`."""
        for answer in answers:
            if not same_seed or _seed_of(answer.run, answer.item, answer) == self.seed:
                answers.remove(answer)
                return answer
        return None

    def answered_by(self, source: Judgment) -> Judgment:
        """The judgment with the answer of `source`, whose sides may be swapped."""
        judgment = self.judgment
        for field in _COPIED:
            setattr(judgment, field, getattr(source, field))
        turns = source.shown_first != judgment.shown_first
        judgment.choice = _turned(source.choice) if turns else source.choice
        judgment.probabilities = source.probabilities
        if turns and source.probabilities is not None:
            given: Mapping[str, float] = source.probabilities
            judgment.probabilities = {_turned(name): share for name, share in given.items()}
        judgment.prompt_sha256, judgment.reused_from = self.prompt, source
        return judgment


def _turned(choice: str) -> str:
    """The response on the same side when both have changed places."""
    return {Choice.R1: Choice.R2, Choice.R2: Choice.R1}.get(Choice(choice), Choice(choice)).value


def _seed_of(run: JudgeRun, item: Item, judgment: Judgment) -> tuple[Any, ...]:
    """The parts of a question's seed."""
    return run.seed, item.key, judgment.shown_first, judgment.sample


def _questions(run: JudgeRun, waiting: Iterable[Judgment]) -> Iterator[_Unanswered]:
    waiting = list(waiting)
    items = _items({judgment.item_id for judgment in waiting})
    asking = Asking.of(run)
    for judgment in sorted(waiting, key=lambda j: (items[j.item_id].key, j.shown_first, j.sample)):
        item = items[judgment.item_id]
        digest = prompt_sha256(asking.messages(item, shown_first=judgment.shown_first))
        yield _Unanswered(judgment, digest, _seed_of(run, item, judgment))


def _items(ids: set[int]) -> dict[int, Item]:
    rest, items = iter(sorted(ids)), dict[int, Item]()
    while some := list(islice(rest, _PORTION)):
        items |= Item.objects.select_related("persona").in_bulk(some)
    return items


def _sources_of(run: JudgeRun, user: User | None) -> list[int]:
    """The runs whose answers can be used, by id."""
    runs = JudgeRun.objects.filter(
        setting=run.setting, judge__base_url=run.judge.base_url, is_imported=False
    )
    if user is not None:
        runs = runs.filter(Q(study=run.study_id) | Q(study__in=studies_for(user)))
    alike, runs = protocol_sha256(run), runs.exclude(pk=run.pk).select_related("judge", "study")
    return [source.pk for source in runs if protocol_sha256(source) == alike]


def _answers_to(
    prompts: set[str], sources: Sequence[int], used: set[Any]
) -> dict[str, deque[Judgment]]:
    """Requested answers by prompt, the oldest first."""
    answered = (
        Judgment.objects.filter(
            prompt_sha256__in=prompts,
            state=Judgment.State.DONE,
            reused_from=None,
            run__in=sources,
            shown_first__in=Side.values,
        )
        .select_related("run", "item")
        .order_by("pk")
    )
    answers: dict[str, deque[Judgment]] = defaultdict(deque)
    for judgment in answered:
        if judgment.pk not in used:
            answers[judgment.prompt_sha256].append(judgment)
    return answers


@dataclass(frozen=True)
class Saving:
    """Reused answers of a run, and the original cost of their requests."""

    judgments: int
    tokens: int
    dollars: Decimal | None  # None if a price is unknown


def saving_of(run: JudgeRun) -> Saving | None:
    """What a run saved by reusing answers; None if it reused none."""
    taken = Judgment.objects.filter(run=run.pk, reused_from__isnull=False)
    if not taken.exists():
        return None
    sums = Attempt.objects.filter(judgment__reused_by__run=run.pk).aggregate(
        nano=Sum("cost_nano"),
        sent=Sum("prompt_tokens"),
        got=Sum("completion_tokens"),
        unknown=Count("pk", filter=Q(cost_nano=None)),
    )
    dollars = None if sums["unknown"] else Decimal(sums["nano"] or 0) / NANO
    return Saving(taken.count(), (sums["sent"] or 0) + (sums["got"] or 0), dollars)
