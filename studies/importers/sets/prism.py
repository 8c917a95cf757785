"""PRISM (Kirk et al. 2024): which of several models a person gave the higher score."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

from studies.importers.files.faults import LIMITS, ImportRow
from studies.importers.items.records import MAX_TEXT
from studies.importers.sets.data_set import (
    ALL,
    FIRST,
    DataSet,
    Files,
    Option,
    Raw,
    Role,
    SetFile,
    Sides,
    Tally,
    chosen,
    draw_or_first,
    fact,
    for_id,
    item,
    json_rows,
    lower_first,
    rank,
)
from studies.texts.normalisation import fold, storable

# Key, label, path in the survey (nested, or flattened with _), sentence.
_FACTS = (
    ("sex", "Sex", "gender", "The person is {lower}."),
    ("age", "Age", "age", "The person is {value} years old."),
    (
        "employment",
        "Employment",
        "employment_status",
        "The person's employment status is: {lower}.",
    ),
    ("education", "Education", "education", "The person's highest level of education is: {lower}."),
    (
        "marital_status",
        "Marital status",
        "marital_status",
        "The person's marital status is: {lower}.",
    ),
    ("ethnicity", "Ethnicity", "ethnicity.simplified", "The person's ethnicity is {value}."),
    ("religion", "Religion", "religion.simplified", "The person's religion is {value}."),
    ("birth_country", "Born in", "location.birth_country", "The person was born in {place}."),
    ("residence_country", "Lives in", "location.reside_country", "The person lives in {place}."),
)
_UNSAID = {"", "prefer not to say", "nan", "none"}
_WITH_ARTICLE = {"Netherlands", "Philippines", "Czech Republic", "Dominican Republic", "Gambia"}


def read_people(part: SetFile, *, describe: bool, tally: Tally) -> dict[str, dict[str, Any]]:
    """The persona of each user; a user without any feature has an empty one."""
    people: dict[str, dict[str, Any]] = {}
    for _, row in json_rows(part, tally):
        user = str(row.get("user_id") or "").strip()
        if user:
            people[user] = _persona(user, row, describe=describe, tally=tally)
    return people


def _persona(user: str, row: Mapping[str, Any], *, describe: bool, tally: Tally) -> dict[str, Any]:
    features = []
    for key, label, where, sentence in _FACTS:
        value = _value(row, where)
        if key == "age":
            value = value.removesuffix(" years old")
        if value.casefold() in _UNSAID:
            continue
        text = sentence.format(value=value, lower=lower_first(value), place=_place(value))
        if key == "religion" and value == "No Affiliation":
            text = "The person has no religious affiliation."
        features.append(fact(key, label, value, text))
    description = storable(str(row.get("self_description") or "")) if describe else ""
    if len(description) > MAX_TEXT:
        tally.notes["self-descriptions cut to 4,000 characters"] += 1
        description = f"{description[: MAX_TEXT - 1].rstrip()}…"
    return {"id": user, "features": features, "text": description or None}


def _value(row: Mapping[str, Any], where: str) -> str:
    """A value of the survey, from the released file or from its flattened copy."""
    outer, _, inner = where.partition(".")
    value = row.get(outer)
    if inner:
        nested = value.get(inner) if isinstance(value, dict) else None
        value = nested if nested is not None else row.get(f"{outer}_{inner}")
    return storable(str(value)) if isinstance(value, (str, int, float)) else ""


def _place(country: str) -> str:
    article = country.startswith("United ") or country in _WITH_ARTICLE
    return f"the {country}" if article else country


PAIRS = ("best_vs_random", "best_vs_second", "best_vs_worst", "all_pairs")
TYPES = ("unguided", "values guided", "controversy guided")
EMPTY = "EMPTY STRING"
# A response is a refusal if its first 200 characters contain one of these phrases.
REFUSALS = (
    "as an ai, i",
    "as an ai i",
    "as an ai language model",
    "as an ai model",
    "as an ai assistant, i",
    "as an ai chatbot",
    "as a language model",
    "as a large language model",
    "as a chatbot",
    "i'm an ai",
    "i am an ai",
    "i'm just an ai",
    "i am just an ai",
    "i'm sorry, but i can't",
    "i'm sorry, but i cannot",
    "i am sorry, but i can't",
    "i am sorry, but i cannot",
    "i'm sorry, i can't",
    "i'm sorry, i cannot",
    "sorry, but i can't",
    "sorry, but i cannot",
    "sorry, i can't",
    "sorry, i cannot",
    "i apologize, but i can't",
    "i apologize, but i cannot",
    "i cannot assist",
    "i can't assist",
    "i cannot help with",
    "i can't help with",
    "i cannot provide",
    "i can't provide",
    "i cannot answer",
    "i can't answer",
    "i cannot fulfill",
    "i can't fulfill",
    "i'm not able to",
    "i am not able to",
    "i'm unable to",
    "i am unable to",
    "i don't have personal opinions",
    "i do not have personal opinions",
    "i don't have personal beliefs",
    "i do not have personal beliefs",
    "i must decline",
)
_REFUSES = re.compile("|".join(rf"\b{re.escape(phrase)}\b" for phrase in REFUSALS))
_REFUSAL_WITHIN = 200
# The paper's released code looks for these in the whole response, so it also drops answers about
# artificial intelligence.
_IN_THE_CODE = ("language model", "AI", "chatbot")
_NUMBER = re.compile(r"[0-9]+$")
_FAMILY = re.compile(r"[a-z]+")


class Utterance(NamedTuple):
    """A response to a person's message, with its line in the file."""

    line: int
    key: str
    within: int
    text: str
    model: str
    provider: str
    score: float
    is_chosen: bool


@dataclass
class PrismInteraction:
    """A message of a person, and the responses to it."""

    key: str
    user: str
    conversation: str
    type: str
    prompt: str
    file: str
    responses: list[Utterance] = field(default_factory=list)

    @property
    def number(self) -> tuple[int, str]:
        """The number in its id, by which it is sorted: int2 before int10."""
        digits = _NUMBER.search(self.key)
        return (int(digits[0]) if digits else 0, self.key)


class PrismPair(NamedTuple):
    interaction: PrismInteraction
    better: Utterance
    other: Utterance
    is_tie: bool

    @property
    def key(self) -> str:
        places = sorted((self.better.within, self.other.within))
        return f"prism-{for_id(self.interaction.key)}-{places[0]}-{places[1]}"

    @property
    def margin(self) -> float:
        return self.better.score - self.other.score


def _read(files: Files, options: Mapping[str, Any], seed: int, tally: Tally) -> Iterator[Raw]:
    survey, utterances = files.need("survey"), files.need("utterances")
    people = read_people(survey, describe=options["persona"] == "with_description", tally=tally)
    interactions, before = _interactions(utterances, options, tally)
    pairs: list[PrismPair] = []
    for interaction in interactions:
        persona = people.get(interaction.user)
        if persona is None:
            tally.drop("messages of people without a survey row")
        elif not persona["features"] and not persona["text"]:
            tally.drop("messages of people with no persona")
        elif len(before.get(interaction.conversation, "")) > LIMITS["context"]:
            tally.drop("messages after more than 20,000 characters")
        else:
            pairs += _pairs(interaction, options, seed, tally)
    size = options["n"]
    tally.drop(f"pairs beyond the sample of {size:,}", max(0, len(pairs) - size))
    sides = Sides(seed, "prism")
    ties = Sides(seed, "prism ties")
    if options["sample"] == FIRST:
        pairs.sort(key=lambda pair: pair.interaction.number)
    drawn = draw_or_first(
        pairs, size, rule=options["sample"], by=lambda pair: rank(seed, "prism", pair.key)
    )
    history = _history(pairs, drawn, options["history"])
    for pair in drawn:
        side = (ties if pair.is_tie else sides).own_is_first(pair.key)
        context = before.get(pair.interaction.conversation, "")
        user = pair.interaction.user
        persona = people[user] | ({"history": history[user]} if history.get(user) else {})
        yield _item(pair, persona, side, context, options["turn"])


def _history(
    pairs: list[PrismPair], drawn: list[PrismPair], most: int
) -> dict[str, list[dict[str, str]]]:
    """Up to `most` other choices of each person, the last ones in the file first.

    Choices that are items are left out: the profile must not answer a question of the study.
    """
    asked = {(pair.interaction.user, fold(pair.interaction.prompt)) for pair in drawn}
    choices: dict[str, list[dict[str, str]]] = {}
    for pair in reversed(pairs) if most else ():
        question = (pair.interaction.user, fold(pair.interaction.prompt))
        known = choices.setdefault(pair.interaction.user, [])
        if len(known) < most and question not in asked and not pair.is_tie:
            asked.add(question)
            texts = {"prompt": pair.interaction.prompt, "chosen": pair.better.text}
            known.append(texts | {"rejected": pair.other.text})
    return choices


def _interactions(
    part: SetFile, options: Mapping[str, Any], tally: Tally
) -> tuple[list[PrismInteraction], dict[str, str]]:
    """The messages of the chosen turn and, for a later turn, the conversation before them."""
    interactions: dict[str, PrismInteraction] = {}
    before: dict[str, list[tuple[int, str]]] = {}
    for line, raw in json_rows(part, tally):
        row = ImportRow(line, part.name)
        turn = row.number(raw, "turn")
        if turn != options["turn"] and not row.faults and turn is not None:
            if turn < options["turn"] and raw.get("if_chosen") is True:
                exchange = f"The person: {raw.get('user_prompt')}\n\nThe model: "
                exchange = storable(f"{exchange}{raw.get('model_response')}")
                before.setdefault(str(raw.get("conversation_id")), []).append((int(turn), exchange))
            else:
                tally.drop("rows of another turn")
            continue
        if not chosen(options["conversation_types"], str(raw.get("conversation_type"))):
            tally.drop("rows of another type of conversation")
            continue
        utterance = _utterance(row, raw)
        words = {name: _word(row, raw, name) for name in ("interaction_id", "user_id")}
        tally.faults += row.faults
        if utterance is None or row.faults:
            if not row.faults:
                tally.drop("responses without a score")
            continue
        interaction = interactions.setdefault(
            words["interaction_id"],
            PrismInteraction(
                key=words["interaction_id"],
                user=words["user_id"],
                conversation=str(raw.get("conversation_id")),
                type=str(raw.get("conversation_type") or ""),
                prompt=storable(str(raw["user_prompt"])),
                file=part.name,
            ),
        )
        interaction.responses.append(utterance)
    texts = {key: "\n\n".join(text for _, text in sorted(turns)) for key, turns in before.items()}
    return list(interactions.values()), texts


def _utterance(row: ImportRow, raw: dict[str, Any]) -> Utterance | None:
    """The response of a row; None if it is faulty or has no score."""
    texts = {
        name: _word(row, raw, name, may_be_blank=name in ("user_prompt", "model_response"))
        for name in ("utterance_id", "user_prompt", "model_response", "model_name")
    }
    within, score = row.number(raw, "within_turn_id"), row.number(raw, "score")
    if within is None and not row.faults:
        row.fault("within_turn_id", "value is missing", "within_turn_id is missing.")
    if row.faults or within is None or score is None:
        return None
    return Utterance(
        row.line,
        texts["utterance_id"],
        int(within),
        storable(texts["model_response"]),
        texts["model_name"],
        str(raw.get("model_provider") or ""),
        score,
        raw.get("if_chosen") is True,
    )


def _word(row: ImportRow, raw: dict[str, Any], name: str, *, may_be_blank: bool = False) -> str:
    value = raw.get(name)
    if not isinstance(value, str) or not (value.strip() or may_be_blank):
        remedy = "Use the file as it was released."
        row.fault(name, "value is missing", f"{name} is missing or not text.", remedy)
        return ""
    return value if may_be_blank else storable(value)


def _pairs(
    interaction: PrismInteraction, options: Mapping[str, Any], seed: int, tally: Tally
) -> list[PrismPair]:
    """The pairs of responses to one message that become items; the others are counted."""
    if len(interaction.responses) < 2:
        tally.drop("messages with a single response")
        return []
    if not interaction.prompt or len(interaction.prompt) > LIMITS["question"]:
        tally.drop("messages that are empty or longer than 4,000 characters")
        return []
    usable = [r for r in interaction.responses if not _is_dropped(r, options, tally)]
    if len(usable) < 2:
        tally.drop("messages with fewer than two responses left")
        return []
    usable.sort(key=lambda r: (-r.score, not r.is_chosen, r.within))
    pairs = []
    for better, other in _chosen_pairs(usable, options["pair"], seed):
        difference, margin = better.score - other.score, options["tie_margin"]
        is_tie = difference <= margin if options["inclusive"] else difference < margin
        if fold(better.text) == fold(other.text):
            tally.drop("pairs of identical texts")
            continue
        tally.ties += is_tie
        if is_tie and not options["include_ties"]:
            tally.drop("ties")
        else:
            pairs.append(PrismPair(interaction, better, other, is_tie))
    return pairs


def _is_dropped(response: Utterance, options: Mapping[str, Any], tally: Tally) -> bool:
    if not response.text or response.text == EMPTY:
        tally.drop("responses that are empty")
    elif options["drop_refusals"] and _is_refusal(response.text, options["refusals"]):
        tally.drop("responses that refuse")
    elif len(response.text) > LIMITS["response"]:
        tally.drop("responses longer than 8,000 characters")
    else:
        return False
    return True


def _is_refusal(text: str, rule: str) -> bool:
    if rule == "substrings":
        return any(words in text for words in _IN_THE_CODE)
    return refuses(text)


def refuses(text: str) -> bool:
    """Whether a response begins like a refusal."""
    start = " ".join(text[:_REFUSAL_WITHIN].replace("’", "'").split()).casefold()
    return _REFUSES.search(start) is not None


def _chosen_pairs(
    responses: list[Utterance], rule: str, seed: int
) -> list[tuple[Utterance, Utterance]]:
    """Pairs of responses sorted from the best to the worst, the better one first."""
    best, others = responses[0], responses[1:]
    if rule == "all_pairs":
        return list(combinations(responses, 2))
    if rule == "best_vs_second":
        return [(best, others[0])]
    if rule == "best_vs_worst":
        return [(best, others[-1])]
    return [(best, min(others, key=lambda r: rank(seed, "prism other", r.key)))]


def _item(
    pair: PrismPair, persona: dict[str, Any], side: bool, context: str, turn: int
) -> tuple[str, int, dict[str, Any]]:
    interaction = pair.interaction
    raw = item(
        key=pair.key,
        task="preference",
        persona=persona,
        own=_response(pair.better),
        other=_response(pair.other),
        own_is_first=side,
        tie=pair.is_tie,
        margin=pair.margin,
        group=interaction.key,
        question=interaction.prompt,
        context=context or None,
        context_title="Earlier in the conversation" if context else None,
        topic=interaction.type,
        metadata={"turn": turn, "conversation": interaction.conversation},
    )
    return interaction.file, pair.better.line, raw


def _response(utterance: Utterance) -> dict[str, Any]:
    maker = {
        "kind": "model",
        "name": utterance.model,
        "provider": utterance.provider or None,
        "family": family(utterance.model),
    }
    return {"text": utterance.text, "generated_by": maker, "score": utterance.score}


def family(model: str) -> str | None:
    """The family of a model: “gpt” of gpt-4, “llama” of meta-llama/Llama-2."""
    match = _FAMILY.match(model.rpartition("/")[2].casefold())
    return match[0] if match else None


PRISM = DataSet(
    name="prism",
    title="PRISM",
    about="Conversations of 1,500 people with language models, and the scores they gave.",
    task="preference",
    files="survey.jsonl and utterances.jsonl",
    source={
        "name": "PRISM",
        "url": "https://github.com/HannahKirk/prism-alignment",
        "licence": "human text CC BY 4.0; model responses CC BY-NC 4.0 and each model's own terms",
        "licence_url": "https://creativecommons.org/licenses/by-nc/4.0/",
        "citation": "Kirk et al. 2024, PRISM",
        "redistribution": "non-commercial",
    },
    roles=(
        Role(
            "utterances",
            (
                "utterance_id",
                "interaction_id",
                "user_id",
                "turn",
                "within_turn_id",
                "user_prompt",
                "model_response",
                "model_name",
                "score",
            ),
            "a row for each response of a model (utterances.jsonl)",
            is_mark=True,
        ),
        Role(
            "survey",
            ("user_id", "age", "gender", "education"),
            "a row for each person (survey.jsonl)",
        ),
    ),
    options=(
        Option(
            "n",
            1000,
            "How the items are chosen from all possible ones.",
            low=1,
            label="Number of items",
        ),
        Option("turn", 0, "Turn of the conversation; 0 is the first.", high=100),
        Option("pair", PAIRS[0], "Which two responses to a message make an item.", PAIRS),
        Option(
            "sample",
            "random",
            "Draw them by seed, or take the first conversations, as the paper did.",
            ("random", FIRST),
        ),
        Option(
            "tie_margin", 10.0, "The largest difference of scores that counts as a tie.", high=100
        ),
        Option("inclusive", True, "A difference of exactly the margin is a tie."),
        Option("include_ties", False, "Keep ties as items, with “tie” as the person's answer."),
        Option("drop_refusals", True, "Leave out responses that begin like a refusal."),
        Option(
            "refusals",
            "beginnings",
            "How refusals are recognised: by their beginning, or as in the paper's code by the "
            "words AI, chatbot and language model anywhere.",
            ("beginnings", "substrings"),
        ),
        Option("conversation_types", ALL, "Types of conversation.", TYPES),
        Option("persona", "table6", "Persona features to import.", ("table6", "with_description")),
        Option("history", 0, "Other choices of the same person in the profile.", high=20),
    ),
    read=_read,
)
