"""Splits sentences about a persona, as released result files write them, into features."""

import re
from collections import Counter

# A sentence ends where the next one starts; a value can contain a full stop ("St. Gallen").
_NEXT = re.compile(
    r"(?<=[.!?])\s+(?=(?:The person|This person|Racially|Religiously|Politically|According to)\b)"
)
_RULES: tuple[tuple[str, str, re.Pattern[str]], ...] = tuple(
    (key, label, re.compile(pattern, re.IGNORECASE))
    for key, label, pattern in (
        ("age", "Age", r"The person is (\d.*?)(?: years old)?\.?"),
        ("birth_country", "Born in", r"The person (?:is|was) born in (.+?)\.?"),
        (
            "residence_country",
            "Lives in",
            r"The person (?:currently lives in|is living (?:in|at)|lives in) (.+?)\.?",
        ),
        ("sex", "Sex", r"The person is (?:a )?((?:fe)?male|non-binary.*?)\.?"),
        (
            "employment",
            "Employment",
            r"The person is (?:a )?(working .+?|student|unemployed.*?|retired|homemaker.*?)\.?",
        ),
        ("education", "Education", r"The person's highest education level is (.+?)\.?"),
        (
            "education",
            "Education",
            r"The person has (?:a |an )?(.*\b(?:degree|diploma|school|college)\b.*?)\.?",
        ),
        ("marital_status", "Marital status", r"The person's marital status is (.+?)\.?"),
        (
            "marital_status",
            "Marital status",
            r"The person is (single|married|divorced|widowed|separated|engaged|never .+?"
            r"|(?:in a |in )relationship.*?|living with a partner)\.?",
        ),
        ("ethnicity", "Ethnicity", r"Racially, the person is (.+?)\.?"),
        ("religion", "Religion", r"Religiously, the person is (.+?)\.?"),
        ("religion", "Religion", r"The person has (no religious affiliation)\.?"),
        ("occupation", "Occupation", r"The person's occupation is (.+?)\.?"),
        ("income", "Income", r"The person(?:'s income is| earns) (.+?)\.?"),
        (
            "politics",
            "Politics",
            r"(?:Politically, )?the person (?:aligns with|is) (?:the )?"
            r"(republican|democrat|independent|other)(?: party)?\.?",
        ),
        (
            "personality",
            "Big Five scores",
            r"According to the Big Five personality test, (?:.*?the person has scored )?(.+?)\.?",
        ),
    )
)
_BORN_AND_LIVES = re.compile(
    r"The person is born in (.+?) and currently lives in (.+?)\.?", re.IGNORECASE
)


def split_features(user_info: str) -> list[dict[str, str]]:
    """Features {key, label, value, text} of a persona, one a sentence, in the file's order.

    A sentence with two facts becomes two sentences. A sentence that no rule knows is kept whole
    under the key `fact`; a repeated key is numbered, so that keys stay unique.
    """
    found: list[dict[str, str]] = []
    used: Counter[str] = Counter()
    for sentence in _sentences(user_info):
        key, label, value = _recognise(sentence)
        used[key] += 1
        if used[key] > 1:
            key = f"{key}_{used[key]}"
        found.append({"key": key, "label": label, "value": value, "text": sentence})
    return found


def _sentences(user_info: str) -> list[str]:
    sentences: list[str] = []
    for part in _NEXT.split(user_info.strip()):
        sentence = part.strip()
        if both := _BORN_AND_LIVES.fullmatch(sentence):
            sentences.append(f"The person is born in {both[1]}.")
            sentences.append(f"The person currently lives in {both[2]}.")
        elif sentence:
            sentences.append(sentence if sentence.endswith((".", "!", "?")) else f"{sentence}.")
    return sentences


def _recognise(sentence: str) -> tuple[str, str, str]:
    for key, label, pattern in _RULES:
        if match := pattern.fullmatch(sentence):
            return key, label, match[1][:1].upper() + match[1][1:]
    return "fact", "Fact", sentence
