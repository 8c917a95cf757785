"""What can be learned from a part of people's answers: examples, guidelines, rules, fields."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import sqrt

import numpy as np
from django.db.models.fields.json import KT

from analysis.data.extras import ANSWER_WORDS
from analysis.exports.catalogue import MORE as MORE_TABLES
from analysis.exports.catalogue import Disclosure
from analysis.stats.core.multiplicity import permuted_groups
from extras.improving.models import Improvement, LearnedFrom
from extras.improving.parts import ANSWERED, ItemInPart, credit, place_of, verdicts_of
from extras.improving.prompts import (
    CASES,
    EXAMPLES,
    WORDS,
    LearnedCase,
    of_examples,
    of_fields,
    of_guidelines,
    of_rules,
)
from judging.prompts.asking import Asking
from studies.models import Choice, Item, Side
from studies.texts.slots import as_steps, steps_of

# A rule is named if it applies to this many items, and differs by twice its standard error.
FEWEST_ITEMS, CLEAR = 20, 2.0
MOST_RULES, MOST_FIELDS = 3, 2
FEWEST_PERSONAS = 3  # with a value, and with another one
FIELD_CLEAR = 1.5
_LONG_WORD = re.compile(r"\w{4,}")


class Learner:
    """What an improvement's wordings learn from the items outside a fold."""

    def __init__(self, improvement: Improvement) -> None:
        self._improvement, self._study = improvement, improvement.study
        self._items = [ItemInPart(*row) for row in improvement.parts]
        self.asking = Asking.of(improvement.run)
        self.words = WORDS.get(improvement.run.prompt_language, WORDS["en"])

    @cached_property
    def verdicts(self) -> Mapping[str, Mapping[str, object]]:
        return verdicts_of(self._improvement.run)

    def lesson(self, kind: str, fold: int) -> str:
        """The text in front of the wording; empty if nothing is learned."""
        if kind == LearnedFrom.EXAMPLES:
            return of_examples(
                self._cases(self._wrong(fold, EXAMPLES), is_example=True), self.words
            )
        if kind == LearnedFrom.GUIDELINES:
            asked = self._improvement.requests.filter(fold=fold).first()
            return of_guidelines(asked.guidelines if asked else (), self.words)
        if kind == LearnedFrom.RULES:
            return of_rules(self._rules(fold), self.words)
        return of_fields(self._fields(fold), self.words)

    def cases_of(self, ids: Sequence[int]) -> list[LearnedCase]:
        """The cases of a request for guidelines, as far as their items are still there."""
        known = {item.item: item for item in self._items}
        return self._cases([known[pk] for pk in ids], is_example=False)

    def cases_to_ask_about(self, fold: int) -> list[int]:
        return [item.item for item in self._wrong(fold, CASES)]

    def _outside(self, fold: int) -> list[ItemInPart]:
        return [item for item in self._items if item.is_outside(fold)]

    def _wrong(self, fold: int, n: int) -> list[ItemInPart]:
        """Items on which the judge errs: the surest first, then those most unlike the others.

        One for each persona, and as many with the first response right as with the second.
        """
        pool = [
            item
            for item in self._outside(fold)
            if credit(self.verdicts.get(item.key), item.right) == 0
        ]
        pool.sort(key=lambda item: (-self._certainty(item.key), place_of(item.key)))
        texts = _words_of(item.item for item in pool)
        chosen: list[ItemInPart] = []
        while pool and len(chosen) < n:
            wanted = ANSWERED[len(chosen) % 2]
            pool.sort(key=lambda item: item.right != wanted)  # stable: the order above stays
            among = [item for item in pool if item.right == pool[0].right]
            best = max(among, key=lambda item: _unlike(item, chosen, texts))
            chosen.append(best)
            pool = [item for item in pool if item.persona != best.persona]
        return chosen

    def _certainty(self, key: str) -> float:
        stated = self.verdicts[key].get("certainty")
        return float(stated) if isinstance(stated, int | float) else 0.0

    def _cases(self, chosen: Sequence[ItemInPart], *, is_example: bool) -> list[LearnedCase]:
        stored = Item.objects.select_related("persona").in_bulk([item.item for item in chosen])
        # Reasons are stored for an item, not for a person: one annotator's are not told apart.
        reasons = self._reasons([] if self._improvement.annotator else list(stored))
        cases = []
        for item in chosen:
            if item.item not in stored:
                continue
            stored[item.item].study = self._study
            first = ANSWERED[place_of(f"side {item.key}")[0] % 2]
            chose = self.verdicts.get(item.key, {}).get("verdict")
            of_right = (
                text for label, text in reasons[item.item] if label == Choice(item.right).label
            )
            cases.append(
                LearnedCase(
                    self.asking.slots(stored[item.item], shown_first=Side(first)),
                    right="AB"[item.right != first],
                    judge="" if is_example or not chose else "AB"[chose != first],
                    reason=next(of_right, ""),
                )
            )
        return cases

    def _reasons(self, ids: Sequence[int]) -> defaultdict[int, list[tuple[str, str]]]:
        """What people wrote, after the name of the response that they chose, by item."""
        reasons = defaultdict[int, list[tuple[str, str]]](list)
        for words in ANSWER_WORDS.of(self._study):
            for item, texts in words.reasons(ids).items():
                reasons[item] += texts
        return reasons

    @cached_property
    def _favoured(self) -> Mapping[str, Mapping[str, str]]:
        """What each measured rule of the table of rules favours, by rule and item.

        Rules that a judge proposed are left out: it saw answers that are sealed here.
        """
        favoured = defaultdict[str, dict[str, str]](dict)
        for table in MORE_TABLES.of(self._study):
            if table.name == "rules":
                for row in table.make(self._study, Disclosure()).rows():
                    is_own = row["run"] == self._improvement.run.key
                    if is_own and row["source"] == "measured" and row["favours"] in ANSWERED:
                        favoured[row["text"]][row["item_id"]] = row["favours"]
        return favoured

    def _rules(self, fold: int) -> list[tuple[str, float]]:
        """The rules that people follow most clearly more, or less, often than the judge."""
        pool, clear = self._outside(fold), []
        for text, favoured in self._favoured.items():
            gaps = [
                float(item.right == favoured[item.key])
                - credit(self.verdicts.get(item.key), favoured[item.key])
                for item in pool
                if item.key in favoured
            ]
            spread = float(np.std(gaps)) if len(gaps) >= FEWEST_ITEMS else 0.0
            if spread and abs(z := np.mean(gaps) / spread * sqrt(len(gaps))) >= CLEAR:
                clear.append((abs(z), text, float(np.mean(gaps))))
        return [(text, gap) for _, text, gap in sorted(clear, reverse=True)[:MOST_RULES]]

    def _fields(self, fold: int) -> list[str]:
        """Labels of the persona's fields between whose values the judge's errors differ most."""
        pool = self._outside(fold)
        keys = sorted({item.persona for item in pool})
        at = {key: n for n, key in enumerate(keys)}
        wrong, answered = np.zeros((2, 1, len(keys)))
        for item in pool:
            wrong[0, at[item.persona]] += 1 - credit(self.verdicts.get(item.key), item.right)
            answered[0, at[item.persona]] += 1
        labels, members = self._values(keys)
        if not members:
            return []
        groups = list(members)
        inside = np.zeros((len(groups), len(keys)), dtype=np.bool_)
        for row, group in enumerate(groups):
            inside[row, [at[key] for key in members[group]]] = True
        tests = permuted_groups(
            wrong,
            answered,
            inside,
            ~inside,
            fewest=FEWEST_PERSONAS,
            rng=np.random.default_rng(abs(self._study.seed)),
            draws=1,
        )
        largest = dict[str, float]()
        for (field, _), t in zip(groups, np.nan_to_num(np.abs(tests.t[0])), strict=True):
            largest[field] = max(largest.get(field, 0.0), float(t))
        ordered = sorted(largest, key=lambda field: -largest[field])
        return [labels[field] for field in ordered if largest[field] >= FIELD_CLEAR][:MOST_FIELDS]

    def _values(
        self, keys: Sequence[str]
    ) -> tuple[Mapping[str, str], Mapping[tuple[str, str], list[str]]]:
        """Labels of fields that the judge sees, and the personas with each of their values."""
        visible = self._improvement.run.feature_keys
        labels = dict[str, str]()
        members = defaultdict[tuple[str, str], list[str]](list)
        personas = self._study.personas.filter(key__in=keys).values_list("key", "features")
        for persona, features in personas:
            for feature in features:
                if visible is None or feature["key"] in visible:
                    labels[feature["key"]] = feature.get("label") or feature["key"]
                    members[(feature["key"], str(feature.get("value", "")))].append(persona)
        return labels, members


def with_lesson(lesson: str, template: str) -> str:
    """The template with what was learned in front of its first message."""
    first, *others = steps_of(template)
    return as_steps([f"{lesson}\n\n{first}", *others])


def _words_of(ids: Iterable[int]) -> dict[int, frozenset[str]]:
    rows = Item.objects.filter(pk__in=list(ids)).values_list(
        "pk", "context", "question", KT("r1__text"), KT("r2__text")
    )
    return {
        pk: frozenset(_LONG_WORD.findall(" ".join(filter(None, texts)).lower()))
        for pk, *texts in rows
    }


def _unlike(
    item: ItemInPart, chosen: Sequence[ItemInPart], texts: Mapping[int, frozenset[str]]
) -> float:
    """1 minus the largest share of words in common with one that is chosen."""
    own = texts.get(item.item, frozenset())
    others = [texts.get(other.item, frozenset()) for other in chosen]
    return min((1 - len(own & other) / max(1, len(own | other)) for other in others), default=1.0)
