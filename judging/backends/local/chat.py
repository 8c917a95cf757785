"""Messages as the tokens of a local model, by its chat template."""

import hashlib
from typing import Any

from judging.backends.local.options import ModelOptions
from judging.engine.chat import chat
from judging.engine.interface import Misconfigured
from judging.engine.messages import Messages, as_text


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
                chat(messages), add_generation_prompt=True, tokenize=False, **self._switches
            )
        except Exception as error:
            # A template is a program of the model's author and can raise any exception.
            reason = " ".join(str(error).split())[:200]
            raise Misconfigured(f"The chat template refuses the messages: {reason}") from error
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])
