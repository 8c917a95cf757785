"""The exact prompts of a wording for some items, before anything is asked."""

from dataclasses import dataclass

from judging.engine.messages import as_text
from judging.models import PromptTemplate
from judging.prompts.asking import Asking
from judging.protocols.framings import OBSERVER, framing
from judging.protocols.registry import protocol
from studies.models import Item, Side
from studies.prompts.language import PROMPT_LANGUAGE, base_of, prompt_languages

ITEMS = 3


@dataclass(frozen=True)
class ExamplePrompt:
    """A prompt with response 1 as A; `number` is the item's place among the annotators' items."""

    number: int
    item: Item
    prompt: str


def example_prompts(wording: PromptTemplate) -> list[ExamplePrompt]:
    """The prompts of the first items, to a judge that sees the persona if the wording shows it."""
    language = base_of(wording.study.language)
    asking = Asking(
        study=wording.study,
        protocol=protocol(wording.setting),
        features=None if wording.template else [],
        framing=framing(OBSERVER),
        language=language if language in prompt_languages() else PROMPT_LANGUAGE,
        template=wording,
    )
    items = Item.objects.filter(study=wording.study).select_related("persona").order_by("key")
    return [
        ExamplePrompt(number, item, as_text(asking.messages(item, shown_first=Side.R1)))
        for number, item in enumerate(items[:ITEMS], start=1)
    ]
