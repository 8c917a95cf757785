"""The backend of models in this process: its options, the exact revision, what it records.

torch is imported with the first question, and never for other backends. A branch of a hub can move
while a study is judged, and a folder can be replaced, so neither names a model.
"""

import hashlib
import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from extras.local_models.thread import LOAD_SECONDS, Model, ModelThread
from judging.backends.backend import (
    INSTEAD_OF_REPLY,
    NO_PROBABILITIES,
    WITH_REPLY,
    BackendKind,
    Capabilities,
    JudgeSettings,
    OwnForm,
)
from judging.backends.parameters import SEED
from judging.engine.interface import Backend, JudgeQuestion, Parameters, Reply
from judging.errors import ConflictingValue, FailureReason, InvalidValue

Scalar = str | int | float | bool

FIELD = "model_options"
AUTO = "auto"
TEMPLATE = "template."  # before the name of a switch of the chat template
DTYPES = (AUTO, "float32", "float16", "bfloat16")
QUANTISATIONS = ("none", "8bit", "4bit")
DEVICE_MAPS = ("single", AUTO, "balanced", "balanced_low_0", "sequential", "cpu")
ATTENTIONS = (AUTO, "eager", "sdpa", "flash_attention_2", "flash_attention_3")
CHAT_TEMPLATES = ("tokenizer", "none")
THINKING = (AUTO, "on", "off")
REFILL = ("off", "on")
# A commit of a model hub, or the content of a folder.
EXACT = re.compile(r"[0-9a-f]{40}|sha256:[0-9a-f]{64}")
_SWITCH = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_LONGEST = 200

_UNKNOWN = FailureReason(
    "unknown_option", "{field}: there is no option “{name}”. Use one of: {known}."
)
_NOT_ALLOWED = FailureReason(
    "option_not_allowed", "{field}: {name} cannot be “{value}”. Use one of: {allowed}."
)
_NOT_PLAIN = FailureReason(
    "option_not_plain",
    "{field}: {name} must be true, false, a number or a text of at most {most} characters.",
)
_NOT_A_NAME = FailureReason(
    "option_not_a_name",
    "{field}: “{name}” does not name a switch of the chat template. Use letters, digits and "
    "underscores after “template.”.",
)
_RESERVED = FailureReason(
    "option_reserved", "{field}: {name} is set by this program. Leave it out."
)
_NOT_EXACT = FailureReason(
    "option_not_exact",
    "{field}: revision “{value}” is not exact. Use a commit of 40 hexadecimal digits, or name a "
    "branch after @ in {names[model]}: it is replaced by its commit.",
)
_NEEDS_PACKAGE = FailureReason(
    "option_needs_package",
    "{field}: {name} “{value}” needs the package {package} in this environment: "
    "“.venv/bin/pip install {package}”.",
)
_NO_TEMPLATE = FailureReason(
    "option_without_template",
    "{field}: {name} is a switch of the chat template, and chat_template is “none”. Leave one out.",
)
_THINKS_BEFORE_SCORES = FailureReason(
    "option_scores_thinking",
    "{field}: with thinking on, the first token of a reply is a thought, so {names[probabilities]} "
    "cannot be scored. Switch one of them off.",
)


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Options of a local model; every default is what most models are published with.

    `dtype` “auto” is bfloat16 on a GPU and float32 on a CPU. `thinking` and `template` are switches
    that the chat template is called with. `refill` lets questions enter a batch that is being
    written. `revision` is exact: a commit, or the hash of a folder.
    """

    dtype: str = AUTO
    quantisation: str = "none"
    device_map: str = "single"
    attention: str = AUTO
    chat_template: str = "tokenizer"
    thinking: str = AUTO
    refill: str = "off"
    revision: str = ""
    template: tuple[tuple[str, Scalar], ...] = field(default=())

    def stored(self) -> dict[str, Scalar]:
        """The options that are not at their defaults, as a judge stores them."""
        plain = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name != "template" and getattr(self, field.name) != field.default
        }
        return plain | {TEMPLATE + name: value for name, value in self.template}


_ALLOWED: dict[str, tuple[str, ...]] = {
    "dtype": DTYPES,
    "quantisation": QUANTISATIONS,
    "device_map": DEVICE_MAPS,
    "attention": ATTENTIONS,
    "chat_template": CHAT_TEMPLATES,
    "thinking": THINKING,
    "refill": REFILL,
}
# What the template is called with in any case.
_OWN_SWITCHES = ("messages", "add_generation_prompt", "tokenize", "chat_template", "tools")
_PACKAGES = {
    ("quantisation", "8bit"): ("bitsandbytes", "accelerate"),
    ("quantisation", "4bit"): ("bitsandbytes", "accelerate"),
    ("device_map", AUTO): ("accelerate",),
    ("device_map", "balanced"): ("accelerate",),
    ("device_map", "balanced_low_0"): ("accelerate",),
    ("device_map", "sequential"): ("accelerate",),
    ("attention", "flash_attention_2"): ("flash_attn",),
    ("attention", "flash_attention_3"): ("flash_attn_interface",),
}


def read_options(stored: Mapping[str, Any]) -> ModelOptions:
    """The options in `stored`. Raises `InvalidValue` for a name or a value that there is not."""
    chosen: dict[str, Any] = {}
    switches: dict[str, Scalar] = {}
    for name, value in stored.items():
        if not isinstance(value, Scalar) or (isinstance(value, str) and len(value) > _LONGEST):
            raise InvalidValue(FIELD, _NOT_PLAIN, name=name, most=_LONGEST)
        if name.startswith(TEMPLATE):
            switches[_switch(name)] = value
        elif name == "revision":
            if not EXACT.fullmatch(str(value)):
                raise InvalidValue(FIELD, _NOT_EXACT, value=value)
            chosen[name] = value
        elif name not in _ALLOWED:
            known = ", ".join([*_ALLOWED, "revision", f"{TEMPLATE}NAME"])
            raise InvalidValue(FIELD, _UNKNOWN, name=name, known=known)
        elif value not in _ALLOWED[name]:
            allowed = ", ".join(_ALLOWED[name])
            raise InvalidValue(FIELD, _NOT_ALLOWED, name=name, value=value, allowed=allowed)
        else:
            chosen[name] = value
    return ModelOptions(**chosen, template=tuple(sorted(switches.items())))


def _switch(name: str) -> str:
    switch = name.removeprefix(TEMPLATE)
    if not _SWITCH.fullmatch(switch):
        raise InvalidValue(FIELD, _NOT_A_NAME, name=name)
    if switch in _OWN_SWITCHES:
        raise InvalidValue(FIELD, _RESERVED, name=name)
    return switch


def check_options(options: ModelOptions, *, scores: bool) -> None:
    """Raise `ConflictingValue` if options exclude each other, or need a package that is missing."""
    switches = [f"{TEMPLATE}{name}" for name, _ in options.template]
    if options.thinking != AUTO:
        switches.append("thinking")
    if options.chat_template == "none" and switches:
        raise ConflictingValue(FIELD, _NO_TEMPLATE, name=switches[0])
    if options.thinking == "on" and scores:
        raise ConflictingValue(FIELD, _THINKS_BEFORE_SCORES)
    for (name, value), packages in _PACKAGES.items():
        if getattr(options, name) != value:
            continue
        for package in packages:
            if not importlib.util.find_spec(package):
                raise ConflictingValue(
                    FIELD, _NEEDS_PACKAGE, name=name, value=value, package=package
                )


_COMMIT = re.compile(r"[0-9a-f]{40}")
_HUB_NAME = re.compile(r"(?:\w[\w.-]*/)?\w[\w.-]*")
_SECONDS = 10  # that a hub may take
_CHUNK = 1 << 22

_UNRESOLVED = FailureReason(
    "no_exact_revision",
    "{field}: the commit of “{model}” is not known: {problem}. Connect this machine to the hub, "
    "write the commit after @ (40 hexadecimal digits), or use a folder on this machine.",
)
_NO_FOLDER = FailureReason(
    "no_folder",
    "{field}: there is no folder “{model}” on this machine, and no model of the hub has such a "
    "name, which would be NAME or OWNER/NAME. Check the path.",
)
_CHANGED = "The folder “{name}” has another content than when the judge was added"


def split(model: str) -> tuple[str, str]:
    """Name and revision of `NAME@REVISION`; a folder has no revision."""
    if Path(model).is_dir():
        return model, ""
    name, _, revision = model.partition("@")
    return name, revision


def exact_revision(model: str) -> str:
    """The commit of a name, or the hash of a folder. Raises `ConflictingValue` if there is none."""
    if Path(model).is_dir():
        return content_hash(Path(model))
    name, revision = split(model)
    if not _HUB_NAME.fullmatch(name):
        raise ConflictingValue("model", _NO_FOLDER, model=model)
    if _COMMIT.fullmatch(revision):
        return revision
    try:
        return _commit_of(name, revision)
    except _Unknown as error:
        # The branch as it was downloaded to this machine; that is what would be loaded.
        if commit := _downloaded(name, revision or "main"):
            return commit
        raise ConflictingValue("model", _UNRESOLVED, model=model, problem=error) from error


class _Unknown(Exception):
    """The hub does not say which commit a branch is at."""


def _commit_of(name: str, revision: str) -> str:
    try:
        import huggingface_hub

        info = huggingface_hub.HfApi().model_info(name, revision=revision or None, timeout=_SECONDS)
    except Exception as error:
        # The client raises errors of its own, of its HTTP library, and of the file system.
        problem = " ".join(str(error).split())[:160] or "it did not answer"
        raise _Unknown(problem.rstrip(".")) from error
    if not _COMMIT.fullmatch(info.sha or ""):
        raise _Unknown("the hub names none")
    return str(info.sha)


def _downloaded(name: str, branch: str) -> str:
    """The commit of a branch when it was last downloaded; empty if it never was."""
    try:
        from huggingface_hub import constants, file_download
    except ImportError:
        return ""
    try:
        folder = file_download.repo_folder_name(repo_id=name, repo_type="model")
        ref = Path(constants.HF_HUB_CACHE) / folder / "refs" / branch
        commit = ref.read_text().strip() if ref.is_file() else ""
    except (ValueError, OSError):  # a name that the hub does not allow, or a broken cache
        return ""
    return commit if _COMMIT.fullmatch(commit) else ""


def check_folder(name: str, revision: str) -> None:
    """Raise `ValueError` if a folder does not hold what its hash was made from."""
    if revision.startswith("sha256:") and content_hash(Path(name)) != revision:
        raise ValueError(_CHANGED.format(name=name))


def content_hash(folder: Path) -> str:
    """A hash of the names and contents of a folder's files; hidden files do not count."""
    digest = hashlib.sha256()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in files:
        name = path.relative_to(folder)
        if any(part.startswith(".") for part in name.parts):
            continue
        content = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                content.update(chunk)
        digest.update(f"{name.as_posix()}\0{content.hexdigest()}\n".encode())
    return f"sha256:{digest.hexdigest()}"


_NO_PACKAGES = FailureReason(
    "no_packages",
    "{field} transformers needs torch and transformers in this environment: “.venv/bin/pip install "
    "-r requirements-gpu.txt”. Or serve the model with “vllm serve MODEL” and add it with {field} "
    "openai and {names[base_url]} http://HOST:8000/v1.",
)


@dataclass(frozen=True)
class TransformersSettings:
    """Settings of a local model; `model` is a folder or a name, with an optional `@revision`.

    `scores` asks for the options' probabilities next to the reply, `only_scores` instead of it.
    """

    model: str
    temperature: float
    top_p: float
    max_tokens: int
    batch_size: int
    scores: bool = False
    only_scores: bool = False
    options: ModelOptions = field(default_factory=ModelOptions)


def intended_parameters(settings: TransformersSettings) -> Parameters:
    options = settings.options.stored()
    return Parameters(
        {
            "model": settings.model,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "max_tokens": settings.max_tokens,
            "seed": SEED,
            "scores": "only" if settings.only_scores else settings.scores,
        }
        | ({"options": options} if options else {})
    )


class TransformersBackend:
    """Answers by a model that is loaded with the first question, in a thread of its own."""

    step_seconds = LOAD_SECONDS

    def __init__(self, settings: TransformersSettings) -> None:
        self._settings = settings
        refills = settings.options.refill == "on" and not settings.only_scores
        self._thread = ModelThread(self._load, batch_size=settings.batch_size, refills=refills)
        self._parameters = intended_parameters(settings)

    def _load(self) -> Model:
        from extras.local_models.model import LocalModel

        return LocalModel(self._settings)

    @property
    def moved_at(self) -> float:
        """When the model last made a step, by the monotonic clock."""
        return self._thread.moved_at

    def parameters(self) -> Parameters:
        return self._parameters

    async def ask(self, question: JudgeQuestion, *, seed: int, parameters: Parameters) -> Reply:
        return await self._thread.ask(question, seed=seed)

    async def close(self) -> None:
        await self._thread.close()


class TransformersKind(BackendKind):
    name = "transformers"
    label = "in-process transformers"
    capabilities = Capabilities(
        is_local=True, probabilities=frozenset({WITH_REPLY, INSTEAD_OF_REPLY})
    )
    own_form = OwnForm(
        preset="local",
        title="Local model",
        words="In the workers themselves, by transformers",
        form="extras.local_models.forms:LocalJudgeForm",
    )
    options_help = (
        "how a local model is loaded and asked: dtype, quantisation, device_map, attention, "
        "chat_template, thinking, template.NAME"
    )

    def check(self, judge: JudgeSettings) -> None:
        """Look for the packages without importing them: that would take seconds and memory."""
        if not all(importlib.util.find_spec(name) for name in ("torch", "transformers")):
            raise ConflictingValue("backend", _NO_PACKAGES)
        options = read_options(dict(judge.model_options))
        check_options(options, scores=judge.probabilities != NO_PROBABILITIES)

    def exact_options(self, judge: JudgeSettings) -> Mapping[str, Any]:
        options = read_options(dict(judge.model_options))
        if not options.revision:
            options = replace(options, revision=exact_revision(judge.model))
        return options.stored()

    def connect(self, judge: JudgeSettings) -> Callable[[], Backend]:
        self.check(judge)
        settings = _settings(judge)
        return lambda: TransformersBackend(settings)

    def intended_parameters(self, judge: JudgeSettings) -> Parameters:
        return intended_parameters(_settings(judge))


TRANSFORMERS = TransformersKind()


def _settings(judge: JudgeSettings) -> TransformersSettings:
    return TransformersSettings(
        model=judge.model,
        temperature=judge.temperature,
        top_p=judge.top_p,
        max_tokens=judge.max_tokens,
        # Half of the questions in hand: the next batch fills while one is computed.
        batch_size=max(1, judge.concurrency // 2),
        scores=judge.probabilities == WITH_REPLY,
        only_scores=judge.probabilities == INSTEAD_OF_REPLY,
        options=read_options(dict(judge.model_options)),
    )
