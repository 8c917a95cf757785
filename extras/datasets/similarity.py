"""The similarity of two people, from the known facts about them."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from studies.errors import BadOption
from studies.texts.normalisation import fold

_MODEL = "sentence-transformers/all-MiniLM-L6-v2"


def by_fields(people: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> list[list[float]]:
    """The share of `fields` in which two people are equal, for each two."""
    values = [[fold(str(person.get(name, ""))) for name in fields] for person in people]
    return [
        [
            sum(a == b != "" for a, b in zip(one, other, strict=True)) / len(fields)
            for other in values
        ]
        for one in values
    ]


def by_tfidf(texts: Sequence[str]) -> list[list[float]]:
    """Cosine similarity of the words of two texts; rare words have more weight."""
    counts = [Counter(fold(text).replace(".", " ").replace(",", " ").split()) for text in texts]
    spread = Counter(word for count in counts for word in count)
    vectors = [
        {word: n * (math.log((1 + len(texts)) / (1 + spread[word])) + 1) for word, n in c.items()}
        for c in counts
    ]
    lengths = [math.sqrt(sum(value**2 for value in vector.values())) or 1.0 for vector in vectors]

    @cache
    def cosine(i: int, j: int) -> float:
        if j < i:
            return cosine(j, i)
        shared = sorted(vectors[i].keys() & vectors[j].keys())
        return sum(vectors[i][w] * vectors[j][w] for w in shared) / (lengths[i] * lengths[j])

    return [[cosine(i, j) for j in range(len(texts))] for i in range(len(texts))]


def by_minilm(texts: Sequence[str]) -> list[list[float]]:
    """Cosine similarity of MiniLM's embeddings, from a copy of the model on this machine.

    Raises `BadOption` if the package or the model is missing.
    """
    try:
        from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found]

        model = SentenceTransformer(_MODEL, local_files_only=True)
    except (ImportError, OSError, ValueError) as error:
        raise BadOption(
            "similarity",
            "The similarity minilm needs the package sentence-transformers and a copy of "
            f"{_MODEL} on this machine. Use fields or tfidf.",
        ) from error
    found = model.encode(list(texts), normalize_embeddings=True)
    return [[float(one @ other) for other in found] for one in found]
