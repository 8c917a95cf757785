"""Which run has the parameters that are asked for, or grows to them."""

import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from django.utils import timezone

from judging.errors import BadRun
from judging.models import Judge, JudgeRun
from studies.models import Item, Study
from studies.personas import features as feature_sets
from studies.prompts import wording
from studies.prompts.language import PROMPT_LANGUAGE

GROWING = ("key", "samples", "orders", "parameters")


def run_for(
    study: Study,
    judge: Judge,
    *,
    setting: str = JudgeRun.Setting.STANDARD,
    features: str = "all",
    orders: str = JudgeRun.Orders.RANDOM,
    samples: int = 1,
    seed: int | None = None,
    extend: bool = False,
) -> JudgeRun:
    """The run that has these parameters; one that is not stored yet where there is none.

    With `extend` the one run that differs in samples or orders alone becomes it; nothing of that
    is stored here. Raises `BadRun` where there is no such run, or more than one.
    """
    keys = feature_sets.resolve(study, features)
    if keys and "," in features:
        features = ",".join(keys)
    seed = study.seed if seed is None else seed
    words = prompt_hash(study, setting, keys)
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
    key = parameters_key(asked)
    if found := JudgeRun.objects.select_related("judge", "study").filter(key=key).first():
        return found
    if extend:
        return _grown(study, judge, asked, key)
    return JudgeRun(
        key=key,
        study=study,
        judge=judge,
        setting=setting,
        features=features,
        feature_keys=keys,
        orders=orders,
        samples=samples,
        seed=seed,
        prompt_hash=words,
        touched_at=timezone.now(),  # the sweeper leaves a run alone that was just made
        # Where the model is served, and the language of all prompts, make no other run but belong
        # to the record.
        parameters={
            **asked,
            "base_url": judge.base_url,
            "prompt_language": PROMPT_LANGUAGE,
        },
    )


def clients(judge: Judge, *, by_batch: bool) -> dict[str, str]:
    """Versions of the packages that put the questions to a judge.

    A model in this process names its own packages with every answer; a replay asks nobody.
    """
    if judge.backend != Judge.Backend.OPENAI:
        return {}
    packages = ("httpcore2", "openai") if by_batch else ("httpcore2",)
    return {name: version(name) for name in packages}


def grown(run: JudgeRun, *, orders: str, samples: int) -> JudgeRun:
    """`run` as it will be with more samples or both orders; nothing is stored.

    Raises `BadRun` where it cannot go on as it was begun.
    """
    try:
        same = run_for(
            run.study,
            run.judge,
            setting=run.setting,
            features=run.features,
            orders=orders,
            samples=samples,
            seed=run.seed,
            extend=True,
        )
    except BadRun:
        same = None
    if same is None or same.pk != run.pk:
        raise BadRun(
            "There is a run with these parameters already, or the study asks in other words by "
            "now. Start a run of its own instead."
        )
    return same


def _grown(study: Study, judge: Judge, asked: dict[str, Any], key: str) -> JudgeRun:
    """The run that differs in samples or orders alone, as the one that is asked for."""
    grows = {"samples", "orders"}
    found = [
        run
        for run in JudgeRun.objects.select_related("judge", "study").filter(
            study=study, judge=judge, is_imported=False
        )
        if all(run.parameters.get(name) == asked[name] for name in asked.keys() - grows)
        and run.samples <= asked["samples"]
        and asked["orders"] in {run.orders, JudgeRun.Orders.BOTH}
    ]
    if len(found) != 1:
        raise BadRun(
            f"--extend needs one run with fewer samples, or one order, and otherwise the same "
            f"parameters; there are {len(found)}. Leave --extend out to start a run of its own."
        )
    (run,) = found
    run.key, run.samples, run.orders = key, asked["samples"], asked["orders"]
    run.parameters |= {name: asked[name] for name in grows}
    return run


def parameters_key(parameters: dict[str, Any]) -> str:
    """One hash for one set of parameters; the run's name in reports."""
    text = json.dumps(parameters, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def prompt_hash(study: Study, setting: str, keys: Sequence[str] | None) -> str:
    """Hash of the words of every task that the study's items have."""
    of_items = Item.objects.filter(study=study).order_by().values_list("task", flat=True)
    tasks = sorted({study.task, *of_items.distinct()})
    hashes = [wording(task, setting, persona=keys != []).sha256 for task in tasks]
    if len(hashes) == 1:
        return hashes[0]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()
