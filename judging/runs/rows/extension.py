"""Find the run that has the requested parameters or can be extended to them."""

import hashlib
import json
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any

from judging.bias.personas import FEATURE
from judging.bias.registry import probe_choice
from judging.errors import BadRun, ConflictingValue, Reason
from judging.models import Judge, JudgeRun
from judging.prompts.asking import Asking, protocol_sha256, words_of_run
from judging.protocols import framings
from judging.protocols.reading import READING_VERSION
from judging.runs.rows.combinations import check_combination, language_for
from judging.runs.rows.spec import RunSpec
from judging.runs.rows.study_facts import RunStudyFacts
from judging.worker.endpoints import kind_of
from studies.models import Study
from studies.personas import features as feature_sets
from studies.statements import clock

# Parameters that a run names only if they are not the usual ones.
_NOT_ALWAYS = ("model_options", "discusses", "anchors", "reading")
EXTENDED_FIELDS = ("key", "samples", "orders", "parameters")

_NO_SUCH_RUN = Reason(
    "no_run_to_extend",
    "{field} needs one run with fewer samples, or one order, and otherwise the same parameters; "
    "there are {count}. Leave {field} out to start a run of its own.",
)
_NO_FEATURE = Reason(
    "no_feature", "{field}: no persona has the feature “{feature}”. Use one of: {known}."
)
_OTHER_SETTING = Reason(
    "other_setting",
    "{field}: “{value}” is written for the setting “{setting}”, whose protocol reads its replies. "
    "Use that for {names[setting]}.",
)
_OTHER_RUN = (
    "There is a run with these parameters already, or the wording of the study has changed, or the "
    "way in which replies are read. Start a run of its own instead."
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
        touched_at=clock.now(),  # the sweep ignores a run that was just created
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
        "structured": judge.structured,
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
    if judge.model_options:
        asked["model_options"] = judge.model_options
    if spec.discusses:
        asked["discusses"] = list(spec.discusses)
    if spec.anchors:
        asked["anchors"] = spec.anchors
    if spec.reading != JudgeRun.Reading.LENIENT:  # an older run without a word goes on as it began
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
    # Where the model is served, and what the hash of the prompts stands for, do not define another
    # run but belong to the record.
    run.parameters |= {"base_url": judge.base_url, **_words_of(run, asking)}
    run.words = words_of_run(run, facts.tasks)
    if judge.more_base_urls:
        run.parameters["more_base_urls"] = judge.more_base_urls
    return run


def _probe_named(words: str, facts: RunStudyFacts) -> str:
    """The name of a probe as runs store it. Raises `FieldError` if the study has nothing for it."""
    choice = probe_choice(words)
    needs = choice.probe is not None and choice.probe.option_name == FEATURE
    if needs and choice.option not in facts.feature_keys:
        known = ", ".join(sorted(facts.feature_keys)) or "none"
        raise ConflictingValue("bias_probe", _NO_FEATURE, feature=choice.option, known=known)
    return choice.name


def _words_of(run: JudgeRun, asking: Asking) -> dict[str, Any]:
    """What the prompts of a run are made of, where it is not the protocol's own."""
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
    kind = kind_of(judge)
    packages = kind.packages + (kind.batch_packages if by_batch else ())
    return {name: _version(name) for name in packages}


@cache
def _version(package: str) -> str:
    """Of what this process has loaded, or will: reading it takes a file, at each start of a run."""
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
