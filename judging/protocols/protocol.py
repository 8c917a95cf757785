"""The base class of judging protocols, and the usual ones: the question and how it is read."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol

from judging.engine.interface import SIDES, Options, Verdict
from judging.engine.messages import Messages, with_replies
from judging.protocols.parsing import parse_reply, read_form
from judging.protocols.texts import ENGLISH, Texts, languages_of, texts

# A key that is equal for all judgments answered by one request.
Request = Hashable


class SharedPlaces(Protocol):
    """Groups judgments of a run that share a request."""

    def sides(self, item: int) -> list[str]:
        """The response that is shown first in each order in which an item is asked."""

    def request(self, item: int, shown_first: str, sample: int) -> Request | None:
        """The request of a judgment; None if it is asked alone, or not at all."""


class EarlierReplies(Protocol):
    """What a run shows of other runs, because protocols know neither items nor slots."""

    def own_reply(self, item: Any, shown_first: str) -> str:
        """The same judge's reply that a judgment continues from."""
        ...

    def change(self, slots: Any, item: Any, shown_first: str) -> Any:
        """The texts of an item, with what others wrote about it."""
        ...

    def why_not(self, items: Any) -> dict[int, str]:
        """The items that are not asked about, with reasons."""
        ...


class JudgingProtocol:
    """A protocol that shows two responses as A and B; the reply names the better one.

    `family`: the closed group in which the form shows it; empty for those of most studies.
    `offers_tie`: the reply may be C, which is stored as a tie. `asks_certainty`: the reply states a
    certainty from 1 to 100. `reply_tokens`: how long a reply usually is, for estimates before the
    first one. `steps`: the number of requests that one judgment takes. `needs_criteria`: it can
    only be used in studies that have criteria. `left_out`: contents of item fields that it cannot
    ask about, and `why_left_out`. `needs_slots`: slots that a wording must have, each with its use
    by the protocol. `shares_requests`: one request asks about several items, whose choices follow
    from the reply: `places` says which, and `choice_of` what. `shows`: the slots that a wording
    needs to show what is judged. `more_makers`: a field of items with the makers of more responses
    than two, if it shows those. `needs_others`: it continues from the replies of other runs, so it
    is not started alone. `needs_probabilities`: it can only be used with judges that report option
    probabilities. `reads_words`: it reads more than the option, so models that give only option
    probabilities do not fit. `takes_framing`: a framing can be added to its words. `has_form`: its
    reply can be requested in the form that `form` describes. `highest`: the highest score that it
    asks for, from 1 on; 0 if it asks for none. `template`: the prompt in English,
    with the slots of `studies/texts/slots.py`. `template_without_persona` is used when a judge sees
    nothing of the persona.

    A protocol without a `template` has words in several languages: those of its `name` in `texts/`
    or, without a prompt there, the file of the item's task in `studies/prompts` with the name
    `begins_with`.
    """

    name: ClassVar[str]  # stored with every run; `--setting` of the commands
    description: ClassVar[str]  # shown in the form that starts runs
    family: ClassVar[str] = "Other settings"
    offers_tie: ClassVar[bool] = False
    asks_certainty: ClassVar[bool] = False
    reply_tokens: ClassVar[int] = 8
    steps: ClassVar[int] = 1
    needs_criteria: ClassVar[bool] = False
    left_out: ClassVar[Mapping[str, Any]] = {}
    why_left_out: ClassVar[str] = ""
    needs_slots: ClassVar[Mapping[str, str]] = {}
    shares_requests: ClassVar[bool] = False
    shows: ClassVar[tuple[str, ...]] = ("response_a", "response_b")
    more_makers: ClassVar[str] = ""
    needs_others: ClassVar[bool] = False
    needs_probabilities: ClassVar[bool] = False
    reads_words: ClassVar[bool] = False
    takes_framing: ClassVar[bool] = True
    has_form: ClassVar[bool] = True
    highest: ClassVar[int] = 0
    begins_with: ClassVar[str] = "standard"
    template: ClassVar[str] = ""
    template_without_persona: ClassVar[str] = ""

    def texts(self, language: str) -> Texts:
        """Its words in a language; empty if those of `studies/prompts` are used."""
        if self.template and language == ENGLISH:
            return Texts(self.template, self.template_without_persona)
        return texts(self.name, language)

    @property
    def languages(self) -> tuple[str, ...] | None:
        """The languages of its words; None if it has none of its own."""
        own = languages_of(self.name)
        return (ENGLISH, *(own or ())) if self.template else own

    def of_study(self, criteria: Sequence[Mapping[str, str]]) -> "JudgingProtocol":
        """The protocol for a study with these criteria."""
        return self

    def is_for(self, study: Any) -> bool:
        """Whether a study has items that it can ask about."""
        return True

    def goes_on_from(self, run: Any) -> "EarlierReplies | None":
        """What a run with this protocol shows of other runs."""
        return None

    def check(self, run: Any) -> None:
        """Raise `ConflictingValue` if a run, stored or not, cannot use this protocol."""

    def why_not(self, items: Any) -> Mapping[int, str]:
        """The items of a query that are not asked about, by id, with the reason."""
        return {}

    def filled(self, slots: Any, item: Any, *, seed: int, shown_first: str, language: str) -> Any:
        """The texts for a prompt, including those that only this protocol shows."""
        return slots

    def about(self, item: Any, *, seed: int, shown_first: str) -> "JudgingProtocol":
        """The protocol for reading the reply about an item."""
        return self

    def places(self, run: Any, items: Iterable[int]) -> "SharedPlaces":
        """The items with these ids that share a request, for a protocol that `shares_requests`."""
        raise NotImplementedError

    def choice_of(self, item: Any, details: Mapping[str, Any]) -> str:
        """The choice for an item, from the details of the judgment that shares its request."""
        raise NotImplementedError

    def conversation(self, messages: Messages, earlier: tuple[str, ...]) -> Messages:
        """The messages of the step that follows the replies `earlier` to the prompt `messages`.

        A prompt of several steps has a user message for each; here each follows the previous reply.
        """
        return messages if self.steps == 1 else with_replies(messages, earlier)

    def options(self, earlier: tuple[str, ...]) -> Options:
        """The options of a step whose probabilities can be read; those of the sides, by default."""
        return {side: (side,) for side in (SIDES if self.offers_tie else SIDES[:2])}

    def weigh(self, verdict: Verdict, probabilities: Mapping[str, float] | None) -> Verdict:
        """A verdict with the information from the last step's option probabilities."""
        return verdict

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        """The verdict in a reply; without a side if the question must be asked again."""
        return parse_reply(
            text,
            offers_tie=self.offers_tie,
            asks_certainty=self.asks_certainty,
            is_structured=is_structured,
            is_lenient=is_lenient,
        )

    def form(self) -> dict[str, Mapping[str, Any]]:
        """The fields of a structured reply, as a JSON schema describes them."""
        letters = ["A", "B", "C"] if self.offers_tie else ["A", "B"]
        fields: dict[str, Mapping[str, Any]] = {"answer": {"type": "string", "enum": letters}}
        if self.asks_certainty:
            fields["certainty"] = {"type": "integer", "minimum": 1, "maximum": 100}
        return fields

    def keeps_form(self, text: str) -> bool:
        """Whether a reply is in the form that `form` describes."""
        return read_form(text) is not None


class NextToReference(JudgingProtocol):
    """Shows the item's reference answer; items without one are left out."""

    left_out = {"reference": ""}
    why_left_out = "The item has no reference answer."
    needs_slots = {"reference": "shows it"}

    def filled(self, slots: Any, item: Any, *, seed: int, shown_first: str, language: str) -> Any:
        return replace(slots, reference=item.reference)


class Standard(JudgingProtocol):
    name = "standard"
    description = "Standard: choice of a response"
    family = ""


class Certainty(JudgingProtocol):
    name = "certainty"
    description = "Certainty: choice of a response and a certainty from 1 to 100"
    family = ""
    asks_certainty = True
    reply_tokens = 16


class Tie(JudgingProtocol):
    name = "tie"
    description = "Tie: choice of a response or a tie"
    family = ""
    offers_tie = True
