"""The text of a persona, the same for the page and for the prompt."""

from collections.abc import Collection, Sequence

from studies.models import Item, Persona, Study
from studies.personas.profile import Fact, HistoryEntry, HistoryWords, Profile
from studies.texts.normalisation import fold


def asked_in(*, question: str, context: str) -> str:
    """What an item asks, as an earlier choice of a persona tells it."""
    return "\n\n".join(filter(None, (context, question)))


def build_profile(
    persona: Persona,
    *,
    features: Sequence[str] | None = None,
    show_history: int = 0,
    without: Collection[str] = (),
) -> Profile:
    """Return the part of `persona` with the given `features` (keys; None means everything).

    Free text and history are shown only with everything, because a chosen set of features is exact.
    Earlier choices about one of the folded texts `without` are left out.
    """
    facts = tuple(
        Fact(f["key"], f["label"], str(f["value"]), f["text"])
        for f in persona.features
        if features is None or f["key"] in features
    )
    if features is not None:
        return Profile(facts, "", ())
    others = [h for h in persona.history if not without or fold(h["prompt"]) not in without]
    history = tuple(
        HistoryEntry(h["prompt"], h["chosen"], h.get("rejected") or "")
        for h in others[:show_history]
    )
    return Profile(facts, persona.text, history)


def profile_for(item: Item, *, features: Sequence[str] | None = None) -> Profile:
    """The profile that an item shows in its study, or an ablation of it.

    A persona's answer to the item itself is never one of the earlier choices that it shows.
    """
    return build_profile(
        item.persona,
        features=features,
        show_history=item.study.show_history,
        without=what_it_asks(item) if item.persona.history else (),
    )


def what_it_asks(item: Item) -> frozenset[str]:
    """What an earlier choice about the item would be about, folded: it is never shown there."""
    asked = asked_in(question=item.question, context=item.context)
    return frozenset(fold(text) for text in (item.question, item.context, asked) if text)


_ENGLISH = HistoryWords()


def profile_text(profile: Profile, *, style: str, words: HistoryWords = _ENGLISH) -> str:
    """The profile as in the judge's prompt: whole sentences, or one labelled fact per line."""
    if style == Study.PersonaStyle.SENTENCES:
        lines = [" ".join(fact.text for fact in profile.facts)]
    else:
        lines = [f"{fact.label}: {fact.value}" for fact in profile.facts]
    lines.append(profile.text)
    for entry in profile.history:
        lines.append(words.earlier.format(prompt=entry.prompt, chosen=entry.chosen))
        if entry.rejected:
            lines.append(words.over.format(rejected=entry.rejected))
    return "\n".join(line for line in lines if line)
