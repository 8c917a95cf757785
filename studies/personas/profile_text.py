"""The text of a persona, the same for the page and for the prompt."""

from collections.abc import Sequence

from studies.models import Item, Persona, Study
from studies.personas.profile import Fact, HistoryEntry, HistoryWords, Profile


def build_profile(
    persona: Persona, *, features: Sequence[str] | None = None, show_history: int = 0
) -> Profile:
    """Return the part of `persona` with the given `features` (keys; None means everything).

    Free text and history are shown only with everything, because a chosen set of features is exact.
    """
    facts = tuple(
        Fact(f["key"], f["label"], str(f["value"]), f["text"])
        for f in persona.features
        if features is None or f["key"] in features
    )
    if features is not None:
        return Profile(facts, "", ())
    history = tuple(
        HistoryEntry(h["prompt"], h["chosen"], h.get("rejected") or "")
        for h in persona.history[:show_history]
    )
    return Profile(facts, persona.text, history)


def profile_for(item: Item, *, features: Sequence[str] | None = None) -> Profile:
    """The profile that an item shows in its study, or an ablation of it."""
    return build_profile(item.persona, features=features, show_history=item.study.show_history)


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
