"""How a local model is loaded and asked, as a judge stores it: flat names with plain values."""

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from judging.errors import ConflictingValue, InvalidValue, Reason

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

_UNKNOWN = Reason("unknown_option", "{field}: there is no option “{name}”. Use one of: {known}.")
_NOT_ALLOWED = Reason(
    "option_not_allowed", "{field}: {name} cannot be “{value}”. Use one of: {allowed}."
)
_NOT_PLAIN = Reason(
    "option_not_plain",
    "{field}: {name} must be true, false, a number or a text of at most {most} characters.",
)
_NOT_A_NAME = Reason(
    "option_not_a_name",
    "{field}: “{name}” does not name a switch of the chat template. Use letters, digits and "
    "underscores after “template.”.",
)
_RESERVED = Reason("option_reserved", "{field}: {name} is set by this program. Leave it out.")
_NOT_EXACT = Reason(
    "option_not_exact",
    "{field}: revision “{value}” is not exact. Use a commit of 40 hexadecimal digits, or name a "
    "branch after @ in {names[model]}: it is replaced by its commit.",
)
_NEEDS_PACKAGE = Reason(
    "option_needs_package",
    "{field}: {name} “{value}” needs the package {package} in this environment: "
    "“.venv/bin/pip install {package}”.",
)
_NO_TEMPLATE = Reason(
    "option_without_template",
    "{field}: {name} is a switch of the chat template, and chat_template is “none”. Leave one out.",
)
_THINKS_BEFORE_SCORES = Reason(
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
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name != "template" and getattr(self, each.name) != each.default
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
