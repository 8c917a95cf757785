"""Items with three to five responses: a recorded rule turns them into pairs.

Everything else compares two responses, so a row with more becomes pairs. Each pair stores its set:
judges can be shown the whole set, and reports treat its pairs together.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from django.forms import ChoiceField

from studies.errors import BadOption
from studies.importers.files.faults import ImportRow
from studies.importers.items.item_fields import (
    PAIRED_BY,
    SET_SIZES,
    of_set,
    read_response,
    shown_of,
)
from studies.importers.items.validation import RowOption
from studies.importers.sets.data_set import DEFAULT_SEED
from studies.media import Media
from studies.models import Item, Side
from studies.texts.normalisation import canonical

ALL, REST, RANDOM = PAIRED_BY
RULES = {
    ALL: "every pair of the responses",
    REST: "the response that the persona chose, with each of the others",
    RANDOM: "the response that the persona chose, with one other, drawn at random",
}


@dataclass(frozen=True)
class PairRule:
    """Which pairs an item with three to five responses becomes; `seed` is that of the draws."""

    name: str
    seed: int = DEFAULT_SEED

    @classmethod
    def of(cls, value: str, seed: int | None) -> "PairRule":
        """The rule that an import names. Raises `BadOption`."""
        name = value.strip()
        if name not in RULES:
            message = f"The option pairs must be one of {', '.join(RULES)}, not “{name[:80]}”."
            raise BadOption("pairs", message)
        return cls(name, DEFAULT_SEED if seed is None else seed)

    @property
    def record(self) -> Mapping[str, Any]:
        return {"name": "items", "options": {"pairs": self.name}, "seed": self.seed}

    @property
    def note(self) -> str:
        return f"rows with more than 2 responses, as pairs by “{self.name}”"

    def items_of(self, row: ImportRow, raw: Any, media: Media) -> Iterator[dict[str, Any]] | None:
        """The raw pairs of a set; None for a row with two responses, or too many."""
        responses = raw.get("responses") if isinstance(raw, dict) else None
        if not isinstance(responses, list) or len(responses) not in SET_SIZES:
            return None
        return _pairs_of(row, raw, self, media)


@dataclass(frozen=True)
class _Options:
    """The responses of a set in the order of their keys, and how the persona likes them.

    `liking` has a number for each, higher for a better one; None where only one choice, or nothing,
    is known. `chosen` is the position of the best one.
    """

    key: str
    responses: Sequence[dict[str, Any]]
    liking: Sequence[float] | None
    chosen: int | None

    def label(self, one: int, other: int) -> str | None:
        """The label of a pair whose response 1 is `one`."""
        if self.liking is not None:
            if self.liking[one] == self.liking[other]:
                return Item.FirstPerson.TIE.value
            return str(Side.R1 if self.liking[one] > self.liking[other] else Side.R2)
        if self.chosen in (one, other):
            return str(Side.R1 if self.chosen == one else Side.R2)
        return None


def _pairs_of(
    row: ImportRow, raw: Mapping[str, Any], rule: PairRule, media: Media
) -> Iterator[dict[str, Any]]:
    options = _read(row, raw, rule, media)
    if row.faults or options is None:
        return
    for one, other in _drawn(options, rule):
        first, second = options.responses[one], options.responses[other]
        label = options.label(one, other)
        numbers = sorted((one + 1, other + 1))
        own = {k: v for k, v in _own(raw).items() if k in ("source", "label_confidence")}
        yield {
            **raw,
            "id": f"{options.key}:r{numbers[0]}-r{numbers[1]}",
            "group": raw.get("group") or options.key,
            "responses": [{**first, "key": "r1"}, {**second, "key": "r2"}],
            "first_person": {**own, "label": label},
            "option_set": {
                "id": options.key,
                "rule": rule.name,
                "place": {"r1": one + 1, "r2": other + 1},
                "chosen": None if options.chosen is None else options.chosen + 1,
                "others": [
                    {"place": place, **of_set(response)}
                    for place, response in enumerate(options.responses, start=1)
                    if place - 1 not in (one, other)
                ],
            },
        }


def _own(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    own = raw.get("first_person")
    return own if isinstance(own, dict) else {}


def _read(row: ImportRow, raw: Mapping[str, Any], rule: PairRule, media: Media) -> _Options | None:
    listed = raw["responses"]
    if not all(isinstance(response, dict) for response in listed):
        row.fault("responses", "response is not an object", "each response must be an object.")
        return None
    keys = [str(entry.get("key") or f"r{n}") for n, entry in enumerate(listed, start=1)]
    names = [f"r{n}" for n in range(1, len(listed) + 1)]
    if sorted(keys) != names:
        row.fault(
            "responses", "response keys", f"the responses must have the keys {', '.join(names)}."
        )
        return None
    by_key = dict(zip(keys, listed, strict=True))
    checked = [read_response(row, name, by_key[name], media) for name in names]
    responses = [
        # Each pair is checked again as an item of the file, so its files keep their names.
        {
            **by_key[name],
            **option,
            **({"media": files} if (files := by_key[name].get("media")) else {}),
        }
        for name, option in zip(names, checked, strict=True)
    ]
    for one, other in combinations(range(len(names)), 2):
        if shown_of(checked[one]) == shown_of(checked[other]):
            row.fault(
                "responses",
                "identical responses",
                f"responses {names[one]} and {names[other]} have the same "
                f"{'text' if checked[one]['text'] else 'files'}.",
                "Remove one of them; nobody can choose between equal texts.",
            )
    if not isinstance(raw.get("id"), str) or not raw["id"].strip():
        row.fault("id", "id is missing", "id is missing.", "Give every item its own id.")
    _refuse_what_pairs_lack(row, raw)
    liking, chosen = _preferences(row, _own(raw), names, responses)
    if chosen is None and rule.name != ALL and not row.faults:
        row.fault(
            "first_person.label",
            "no chosen response",
            f"pairs by “{rule.name}” need the response that the persona chose.",
            f"Add it, or make pairs by “{ALL}”.",
        )
    return _Options(str(raw.get("id") or "").strip(), responses, liking, chosen)


def _refuse_what_pairs_lack(row: ImportRow, raw: Mapping[str, Any]) -> None:
    order = raw.get("order")
    if isinstance(order, dict) and order.get("shuffle") is False:
        row.fault(
            "order",
            "options in a fixed order",
            "an item with more than 2 responses has no fixed order.",
            "Leave order out.",
        )
    if raw.get("split") not in (None, "", Item.Split.MAIN.value, Item.Split.LEFT_OUT.value):
        row.fault(
            "split",
            "options outside main items",
            f"only main items have more than 2 responses; this one is {raw['split']}.",
            "Give it 2 responses.",
        )
    if raw.get("advice"):
        row.fault(
            "advice",
            "options with advice",
            "an item with more than 2 responses has no advice.",
            "Leave advice out.",
        )


def _preferences(
    row: ImportRow,
    own: Mapping[str, Any],
    names: Sequence[str],
    responses: Sequence[Mapping[str, Any]],
) -> tuple[Sequence[float] | None, int | None]:
    """How the persona likes the responses: by a ranking, by scores, or only the chosen one."""
    label, ranking = own.get("label") or "", own.get("ranking")
    scores = [response["score"] for response in responses]
    liking: list[float] | None = None
    if ranking is not None:
        if not isinstance(ranking, list) or sorted(map(str, ranking)) != list(names):
            row.fault(
                "first_person.ranking",
                "ranking is not complete",
                f"first_person.ranking must name each of {', '.join(names)} once.",
                "Write the best one first.",
            )
            return None, None
        liking = [-float(ranking.index(name)) for name in names]
    elif None not in scores:
        liking = [float(score) for score in scores]
    best = [n for n, liked in enumerate(liking) if liked == max(liking)] if liking else []
    if label and label not in names:
        row.fault(
            "first_person.label",
            "label is not allowed",
            f"label “{label}” is not allowed; use one of {', '.join(names)} or leave empty.",
            value=label,
        )
        return liking, None
    if label and best and names.index(label) not in best:
        row.fault(
            "first_person.label",
            "label and ranking disagree",
            f"label is {label}, but another response is ranked or scored higher.",
        )
    if label:
        return liking, names.index(label)
    return liking, best[0] if len(best) == 1 else None


def _drawn(options: _Options, rule: PairRule) -> Iterator[tuple[int, int]]:
    """The pairs of a rule, as positions in the set; a draw decides which one is response 1."""
    count = len(options.responses)
    others = [n for n in range(count) if n != options.chosen]
    pairs: Sequence[tuple[int, int]]
    if rule.name == ALL or options.chosen is None:
        pairs = list(combinations(range(count), 2))
    elif rule.name == REST:
        pairs = [(options.chosen, other) for other in others]
    else:
        number = int.from_bytes(_hash(f"{rule.seed}|{options.key}")[:8])
        pairs = [(options.chosen, others[number % len(others)])]
    for one, other in pairs:
        texts = sorted(_words(options.responses[n]) for n in (one, other))
        is_turned = _hash("\n".join([options.key, *texts]))[0] % 2
        low, high = sorted((one, other))
        yield (high, low) if is_turned else (low, high)


def _words(response: Mapping[str, Any]) -> str:
    files = response.get("media")
    return str(response["text"]) + (canonical(files) if files else "")


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _field() -> ChoiceField:
    return ChoiceField(
        label="Items with 3 to 5 responses",
        required=False,
        choices=[("", "Refuse them"), *((name, f"Import {what}") for name, what in RULES.items())],
        help_text="Every item compares two responses, so a longer list becomes pairs. Judges can "
        "still be shown all responses at once.",
    )


PAIRS = RowOption(
    name="pairs",
    help=f"for items with 3 to 5 responses, pairs=RULE ({', '.join(RULES)})",
    field=_field,
    remedy="To import 3 to 5 responses, name the columns response_1 to response_5, import the file "
    "in the item format, and choose which pairs to make of them",
    rule=PairRule.of,
)
