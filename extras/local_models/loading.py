"""Loads a local model: its weights, its tokenizer and its chat template, as its options say."""

import hashlib
from dataclasses import dataclass
from typing import Any

from extras.local_models.kind import AUTO, ModelOptions, TransformersSettings, check_folder, split
from judging.engine.interface import Misconfigured
from judging.engine.messages import Messages, as_text
from judging.engine.messages import chat as as_chat


class Chat:
    """A tokenizer with its chat template, and the switches that the template is called with."""

    def __init__(self, tokenizer: Any, options: ModelOptions) -> None:
        self.tokenizer = tokenizer
        has_template = options.chat_template != "none" and tokenizer.chat_template is not None
        self._template = tokenizer.chat_template if has_template else None
        self._switches: dict[str, Any] = dict(options.template)
        if options.thinking in ("on", "off"):
            self._switches["enable_thinking"] = options.thinking == "on"

    @property
    def has_template(self) -> bool:
        return self._template is not None

    @property
    def template_hash(self) -> str:
        """The first letters of a hash of the template; templates change between revisions."""
        if self._template is None:
            return "none"
        return hashlib.sha256(str(self._template).encode()).hexdigest()[:12]

    def tokens(self, messages: Messages) -> list[int]:
        """The tokens of a request, up to where the reply begins. Raises `Misconfigured`."""
        if self._template is None:
            return list(self.tokenizer(as_text(messages))["input_ids"])
        try:
            text = self.tokenizer.apply_chat_template(
                as_chat(messages), add_generation_prompt=True, tokenize=False, **self._switches
            )
        except Exception as error:
            # A template is a program of the model's author and can raise any exception.
            reason = " ".join(str(error).split())[:200]
            raise Misconfigured(f"The chat template refuses the messages: {reason}") from error
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])


@dataclass(frozen=True)
class Loaded:
    """A model that is ready; `name` and `fingerprint` are stored with every answer."""

    model: Any
    chat: Chat
    device: Any  # of its first layer, where prompts go
    name: str
    fingerprint: str


def load(settings: TransformersSettings) -> Loaded:
    """Load a model. Raises `Misconfigured` with the reason."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise Misconfigured(f"torch and transformers are not installed ({error})") from error
    options = settings.options
    has_gpu = torch.cuda.is_available()
    if options.dtype == AUTO:
        # Half the memory and several times the speed; CPUs are seldom faster with it.
        dtype = torch.bfloat16 if has_gpu and options.device_map != "cpu" else torch.float32
    else:
        dtype = getattr(torch, options.dtype)
    name, branch = split(settings.model)
    try:
        check_folder(name, options.revision)
        commit = options.revision if not options.revision.startswith("sha256:") else ""
        source = {"revision": commit or branch} if commit or branch else {}
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, **source)
        model: Any = transformers.AutoModelForCausalLM.from_pretrained(
            name, dtype=dtype, **source, **_how(options, dtype)
        )
        if "device_map" not in _how(options, dtype):
            model = model.to("cuda" if has_gpu and options.device_map != "cpu" else "cpu")
        model = model.eval()
        chat = Chat(tokenizer, options)
    except Exception as error:
        # A model can bring its own code, which can raise any exception.
        reason = " ".join(str(error).split())[:200] or "its program gives no reason"
        raise Misconfigured(f"The model “{settings.model}” cannot be loaded: {reason}") from error
    revision = commit or getattr(model.config, "_commit_hash", None) or branch or options.revision
    where = torch.cuda.get_device_name() if model.device.type == "cuda" else "CPU"
    return Loaded(
        model=model,
        chat=chat,
        device=model.device,
        name=f"{name}@{revision}" if revision else name,
        fingerprint=", ".join(
            [
                f"{_precision(options, dtype)} on {where}",
                f"attention {model.config._attn_implementation}",
                f"template {chat.template_hash}",
                f"torch {torch.__version__}",
                f"transformers {transformers.__version__}",
            ]
        ),
    )


def _how(options: ModelOptions, dtype: Any) -> dict[str, Any]:
    """The arguments of loading that options set."""
    how: dict[str, Any] = {}
    if options.attention != AUTO:
        how["attn_implementation"] = options.attention
    # On one device, a model is moved once it is loaded: a map needs the package accelerate.
    if options.device_map not in ("single", "cpu"):
        how["device_map"] = options.device_map
    if options.quantisation != "none":
        from transformers import BitsAndBytesConfig

        how["quantization_config"] = (
            BitsAndBytesConfig(load_in_8bit=True)
            if options.quantisation == "8bit"
            else BitsAndBytesConfig(
                load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype
            )
        )
        # Quantised weights cannot be moved after they were loaded.
        how.setdefault("device_map", {"": _first_device()})
    return how


def _first_device() -> str:
    import torch

    return "cuda:0" if torch.cuda.is_available() else "cpu"


def _precision(options: ModelOptions, dtype: Any) -> str:
    plain = str(dtype).removeprefix("torch.")
    return plain if options.quantisation == "none" else f"{options.quantisation} and {plain}"
