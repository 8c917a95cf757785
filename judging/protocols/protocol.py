"""The base class of judging protocols: the question to a judge and the reading of its reply."""

from collections.abc import Mapping
from typing import Any, ClassVar

from judging.engine.interface import Verdict
from judging.engine.messages import Messages
from judging.protocols.parsing import parse_reply, read_form


class JudgingProtocol:
    """A protocol that shows two responses as A and B; the reply names the better one.

    `offers_tie`: the reply may be C, which is stored as a tie.
    `asks_certainty`: the reply states a certainty from 1 to 100.
    `reply_tokens`: how long a reply usually is, for estimates before the first one.
    `steps`: the number of requests that one judgment takes.
    `needs_criteria`: it can only be used in studies that have criteria.
    `template`: the prompt, with the slots of `studies/slots.py`; where it is empty, the file of the
    item's task in `studies/prompts` with this protocol's name. `template_without_persona` is used
    when a judge sees nothing of the persona.
    """

    name: ClassVar[str]  # stored with every run; `--setting` of the commands
    description: ClassVar[str]  # shown in the form that starts runs
    offers_tie: ClassVar[bool] = False
    asks_certainty: ClassVar[bool] = False
    reply_tokens: ClassVar[int] = 8
    steps: ClassVar[int] = 1
    needs_criteria: ClassVar[bool] = False
    template: ClassVar[str] = ""
    template_without_persona: ClassVar[str] = ""

    def conversation(self, messages: Messages, earlier: tuple[str, ...]) -> Messages:
        """The messages of the step that follows the replies `earlier` to the prompt `messages`."""
        return messages

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        """The verdict in a reply; without a side if the question has to be asked again."""
        return parse_reply(
            text,
            offers_tie=self.offers_tie,
            asks_certainty=self.asks_certainty,
            is_structured=is_structured,
        )

    def form(self) -> dict[str, Mapping[str, Any]]:
        """The fields of a structured reply, as a JSON schema describes them."""
        letters = ["A", "B", "C"] if self.offers_tie else ["A", "B"]
        fields: dict[str, Mapping[str, Any]] = {"answer": {"type": "string", "enum": letters}}
        if self.asks_certainty:
            fields["certainty"] = {"type": "integer"}
        return fields

    def keeps_form(self, text: str) -> bool:
        """Whether a reply is in the form that `form` describes."""
        return read_form(text) is not None
