"""A persona as text, the same for the page and the prompt, and named sets of its features."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from studies.errors import StudyError
from studies.texts.normalisation import fold
from studies.texts.slots import Fact, HistoryEntry, HistoryWords, Profile

if TYPE_CHECKING:
    from studies.models import Item, Persona, Study


def asked_in(*, question: str, context: str) -> str:
    """What an item asks, as an earlier choice of a persona is described."""
    return "\n\n".join(filter(None, (context, question)))


def build_profile(
    persona: Persona,
    *,
    features: Sequence[str] | None = None,
    show_history: int = 0,
    without: Collection[str] = (),
) -> Profile:
    """Return the part of `persona` with the given `features` (keys; None means everything).

    Free text and history are shown only with all features: a chosen set shows nothing else. Earlier
    choices about one of the folded texts `without` are left out.
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

    The earlier choices never include the persona's answer to the item itself.
    """
    return build_profile(
        item.persona,
        features=features,
        show_history=item.study.show_history,
        without=what_it_asks(item) if item.persona.history else (),
    )


def what_it_asks(item: Item) -> frozenset[str]:
    """The folded text of an earlier choice about the item, which is never shown there."""
    asked = asked_in(question=item.question, context=item.context)
    return frozenset(fold(text) for text in (item.question, item.context, asked) if text)


_ENGLISH = HistoryWords()


def profile_text(profile: Profile, *, style: str, words: HistoryWords = _ENGLISH) -> str:
    """The profile as in the judge's prompt: whole sentences, or one labelled fact per line."""
    from studies.models import Study

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


# Keys of data sets that mean the same feature of a person.
_ALIKE: tuple[tuple[str, ...], ...] = (
    ("residence_country", "region", "living_country", "location"),
    ("ethnicity", "race"),
    ("sex", "gender"),
    ("employment", "employment_status", "occupation"),
    ("politics", "party"),
)
# The sets of the source paper. `table6` has everything in its Table 6 for PRISM; for three features
# the article and the released code differ.
NAMED_SETS: dict[str, tuple[str, ...]] = {
    "table6": (
        "sex",
        "age",
        "employment",
        "education",
        "marital_status",
        "ethnicity",
        "religion",
        "birth_country",
        "residence_country",
    ),
    "three_paper": ("residence_country", "education", "ethnicity"),
    "three_code": ("age", "education", "politics"),
}


def known_keys(study: Study) -> set[str]:
    """Every feature key that a persona of `study` has whose items judges are asked about.

    The personas of ready-made practice items have features of their own.
    """
    from studies.models import Item

    asked = study.personas.filter(pk__in=Item.objects.filter(study=study).values("persona"))
    return {
        feature["key"]
        for features in asked.values_list("features", flat=True)
        for feature in features
    }


def in_few_words(features: str, known: set[str]) -> str:
    """A short description of a choice of features for tables; a sweep names the changed one."""
    left_out = known.difference(features.split(","))
    if "," in features and len(left_out) == 1:
        return f"all but {left_out.pop()}"
    if features in known:
        return f"{features} alone"
    return {"all": "all features", "none": "no features"}.get(features, f"features {features}")


def own_sets(study: Study) -> dict[str, list[str]]:
    """The keys of each set of features that the study has itself."""
    from studies.models import FeatureSet

    return dict(FeatureSet.objects.filter(study=study).values_list("name", "keys"))


def meant_by(key: str, known: Collection[str]) -> str:
    """The known key that is this feature or means the same; empty if there is none."""
    if key in known:
        return key
    alike = next((group for group in _ALIKE if key in group), ())
    return next((other for other in alike if other in known), "")


def resolve(
    study: Study,
    features: str,
    *,
    known: Collection[str] | None = None,
    own: Mapping[str, Sequence[str]] | None = None,
) -> list[str] | None:
    """Turn `all`, `none`, the name of a set, or `a,b,c` into keys; None means everything.

    `known` are the keys that `known_keys` found, `own` what `own_sets` found; without them both
    are read.

    A feature of a named set is found by its meaning: a place of residence is `residence_country` in
    one data set and `region` in another. Raises `StudyError` for an unknown key or name, or if a
    feature of a named set is missing: a run never shows only a part.
    """
    if features == "all":
        return None
    if features == "none":
        return []
    known = known_keys(study) if known is None else known
    sets: dict[str, Sequence[str]] = {**NAMED_SETS, **(own_sets(study) if own is None else own)}
    if features in sets:
        meanings = {key: meant_by(key, known) for key in sets[features]}
        if missing := [key for key, there in meanings.items() if not there]:
            raise StudyError(
                f"No persona of “{study.slug}” has “{missing[0]}” of the set “{features}” "
                f"({', '.join(sets[features])}), nor a feature that means the same. Name the keys "
                f"to show instead: {', '.join(sorted(known)) or 'there are none'}."
            )
        return list(dict.fromkeys(meanings.values()))
    keys = [key.strip() for key in features.split(",") if key.strip()]
    if unknown := [key for key in keys if key not in known]:
        raise StudyError(
            f"No persona of “{study.slug}” has the feature “{unknown[0]}”. "
            f"Use all, none, a set ({', '.join(NAMED_SETS)}) or keys of: "
            f"{', '.join(sorted(known))}."
        )
    return keys
