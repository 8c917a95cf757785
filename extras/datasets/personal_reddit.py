"""Personal Reddit, synthetic (Staab et al. 2024): which answer to a post the person wrote."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from studies.errors import BadOption
from studies.importers.files.faults import LIMITS, MAX_PAIRS, ImportRow, refused
from studies.importers.sets.data_set import (
    ALL,
    DataSet,
    Files,
    Option,
    Raw,
    Role,
    SetFile,
    Sides,
    Tally,
    chosen,
    fact,
    item,
    json_rows,
    rank,
)
from studies.texts.normalisation import digest, fold, storable

_MODEL = "sentence-transformers/all-MiniLM-L6-v2"


def by_fields(people: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> list[list[float]]:
    """The share of equal `fields` for each pair of people."""
    values = [[fold(str(person.get(name, ""))) for name in fields] for person in people]
    return [
        [
            sum(a == b != "" for a, b in zip(one, other, strict=True)) / len(fields)
            for other in values
        ]
        for one in values
    ]


def by_tfidf(texts: Sequence[str]) -> list[list[float]]:
    """Cosine similarity of two texts' words, with more weight for rare words."""
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
    """Cosine similarity of MiniLM embeddings from a local copy of the model.

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
    vectors = model.encode(list(texts), normalize_embeddings=True)
    return [[float(one @ other) for other in vectors] for one in vectors]


# key, label, attribute, sentence
_FACTS = (
    ("age", "Age", "age", "The person is {value} years old."),
    ("sex", "Sex", "sex", "The person is {value}."),
    ("residence_country", "Lives in", "city_country", "The person lives in {value}."),
    ("birth_country", "Born in", "birth_city_country", "The person was born in {value}."),
    ("education", "Education", "education", "The person's education is: {value}."),
    ("occupation", "Occupation", "occupation", "The person's occupation is: {value}."),
    ("income", "Income", "income", "The person's yearly income is {value}."),
    (
        "marital_status",
        "Relationship",
        "relationship_status",
        "The person's relationship status is: {value}.",
    ),
)
_COMPARED = (
    "age",
    "sex",
    "city_country",
    "birth_city_country",
    "education",
    "occupation",
    "income_level",
    "relationship_status",
)
_ARTEFACT = re.compile(r"Type:|\buser:")


@dataclass(frozen=True)
class Post:
    """An answer to a post, by one of the `people`."""

    line: int
    person: int
    question: str
    answer: str
    feature: str
    hardness: int
    has_artefact: bool


def _read(files: Files, options: Mapping[str, Any], seed: int, tally: Tally) -> Iterator[Raw]:
    part = files.need("posts")
    people: list[dict[str, Any]] = []
    posts = _posts(part, people, options, tally)
    if math.comb(len(people), 2) > MAX_PAIRS:
        raise refused(
            part.name,
            f"The file has {len(people):,} people. Only {MAX_PAIRS:,} pairs can be compared.",
            "Remove some people.",
        )
    personas = [_persona(person) for person in people]
    alike = _similarity(options["similarity"], people, personas)
    if options["other"] == "last":
        others = {post: posts[-1] for post in posts if post.answer != posts[-1].answer}
    else:
        others = _others(posts, alike, options["max_reuse"], seed)
    tally.drop("answers without another answer to compare with", len(posts) - len(others))
    sides = Sides(seed, "pr")
    for post in posts:
        if post in others:
            other, key = others[post], f"pr-{post.line}"
            raw = item(
                key=key,
                task="question_answer_authorship",
                persona=personas[post.person],
                own=_response(post),
                other=_response(other),
                own_is_first=sides.own_is_first(key),
                source="simulated",
                topic=post.feature,
                metadata={
                    "hardness": post.hardness,
                    "traces_of_a_prompt": post.has_artefact,
                    "distractor": f"pr-{other.line}",
                    "distractor_similarity": round(alike[post.person][other.person], 4),
                },
            )
            yield part.name, post.line, raw


def _posts(
    part: SetFile, people: list[dict[str, Any]], options: Mapping[str, Any], tally: Tally
) -> list[Post]:
    """The answers that can be used in an item; adds their authors to `people`."""
    numbers: dict[str, int] = {}
    posts = []
    for line, raw in json_rows(part, tally):
        row = ImportRow(line, part.name)
        person, hardness = raw.get("personality"), row.number(raw, "hardness")
        texts = {name: raw.get(name) for name in ("question_asked", "response", "feature")}
        for name, value in texts.items():
            if not isinstance(value, str) or not value.strip():
                row.fault(name, "value is missing", f"{name} is missing or not text.")
        if not isinstance(person, dict) or hardness is None:
            row.fault("personality", "value is missing", "personality or hardness is missing.")
        tally.faults += row.faults
        if row.faults or not isinstance(person, dict) or hardness is None:
            continue
        question, answer, feature = (storable(str(value)) for value in texts.values())
        has_artefact = _ARTEFACT.search(question) is not None
        if not chosen(options["hardness"], f"{hardness:g}"):
            tally.drop("answers of another hardness")
        elif options["drop_artefacts"] and has_artefact:
            tally.drop("answers to questions with traces of a prompt")
        elif len(question) > LIMITS["question"] or len(answer) > LIMITS["response"]:
            tally.drop("answers that are too long")
        elif not _persona(person)["features"]:
            tally.drop("answers of people without a persona")
        else:
            number = numbers.setdefault(digest(person), len(numbers))
            if number == len(people):
                people.append(person)
            level = int(hardness)
            posts.append(Post(line, number, question, answer, feature, level, has_artefact))
    return posts


def _persona(person: Mapping[str, Any]) -> dict[str, Any]:
    features = []
    for key, label, name, sentence in _FACTS:
        value = storable(str(person.get(name) if person.get(name) is not None else ""))
        if value:
            features.append(fact(key, label, value, sentence.format(value=value)))
    return {"id": f"pr-{digest(person)[:12]}", "features": features}


def _similarity(
    rule: str, people: list[dict[str, Any]], personas: list[dict[str, Any]]
) -> list[list[float]]:
    if rule == "fields":
        return by_fields(people, _COMPARED)
    texts = [" ".join(f["text"] for f in persona["features"]) for persona in personas]
    return by_tfidf(texts) if rule == "tfidf" else by_minilm(texts)


def _others(
    posts: list[Post], alike: list[list[float]], max_reuse: int, seed: int
) -> dict[Post, Post]:
    """For each answer, an answer by the most similar other author, used at most `max_reuse` times.

    Answers are processed in seeded order. The author's least used answer is chosen, and a seeded
    author among equally similar ones.
    """
    by_person: dict[int, list[Post]] = {}
    for post in posts:
        by_person.setdefault(post.person, []).append(post)
    nearest = {
        person: sorted(
            (other for other in by_person if other != person),
            key=lambda other: (-alike[person][other], rank(seed, "pr person", person, other)),
        )
        for person in by_person
    }
    used: Counter[Post] = Counter()
    other_of: dict[Post, Post] = {}
    for post in sorted(posts, key=lambda post: rank(seed, "pr turn", post.line)):
        for person in nearest[post.person]:
            other = min(
                by_person[person],
                key=lambda other: (used[other], rank(seed, "pr", post.line, other.line)),
            )
            if used[other] < max_reuse:
                used[other] += 1
                other_of[post] = other
                break
    return other_of


def _response(post: Post) -> dict[str, Any]:
    return {"text": post.answer, "prompt": post.question}


PERSONAL_REDDIT = DataSet(
    name="pr",
    title="Personal Reddit, synthetic",
    about="Answers to posts, each written as one of 40 invented people.",
    task="question_answer_authorship",
    files="synthetic_dataset.jsonl",
    source={
        "name": "Personal Reddit, synthetic",
        "url": "https://github.com/eth-sri/llmprivacy",
        "licence": "MIT",
        "citation": "Staab et al. 2024, synthetic Personal Reddit",
        "redistribution": "allowed",
    },
    roles=(
        Role(
            "posts",
            ("personality", "feature", "hardness", "question_asked", "response"),
            "a row for each answer (synthetic_dataset.jsonl)",
            is_mark=True,
        ),
    ),
    options=(
        Option(
            "similarity",
            "fields",
            "How to find the most similar person.",
            ("fields", "tfidf", "minilm"),
        ),
        Option(
            "other",
            "similar",
            "The other answer: by a similar person, or always the last in the file, as in the "
            "paper's released runs.",
            ("similar", "last"),
        ),
        Option("max_reuse", 3, "How often an answer may be used as the other one.", low=1),
        Option("hardness", ALL, "Levels of hardness.", ("1", "2", "3", "4", "5")),
        Option("drop_artefacts", True, "Leave out questions with traces of a prompt."),
    ),
    read=_read,
)
