"""One rendering of a persona, for the page and for the prompt alike."""

from collections.abc import Sequence
from dataclasses import dataclass

from studies.models import Item, Persona, Study


@dataclass(frozen=True)
class Fact:
    key: str
    label: str
    value: str
    text: str


@dataclass(frozen=True)
class HistoryEntry:
    prompt: str
    chosen: str
    rejected: str


@dataclass(frozen=True)
class Profile:
    """What may be seen of a person: chosen facts in order, free text, earlier choices."""

    facts: tuple[Fact, ...]
    text: str
    history: tuple[HistoryEntry, ...]


def build_profile(
    persona: Persona, *, features: Sequence[str] | None = None, show_history: int = 0
) -> Profile:
    """Return the part of `persona` that `features` (keys; None means everything) lets through.

    Free text and history are part of everything only: a chosen set of features is exactly that.
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


def profile_text(profile: Profile, *, style: str) -> str:
    """The profile as the judge's prompt says it: whole sentences, or one labelled fact a line."""
    if style == Study.PersonaStyle.SENTENCES:
        lines = [" ".join(fact.text for fact in profile.facts)]
    else:
        lines = [f"{fact.label}: {fact.value}" for fact in profile.facts]
    lines.append(profile.text)
    for entry in profile.history:
        lines.append(f"Earlier, to “{entry.prompt}”, the person preferred: {entry.chosen}")
        if entry.rejected:
            lines.append(f"over: {entry.rejected}")
    return "\n".join(line for line in lines if line)
