"""The people of PRISM: a row of the survey as features of a persona."""

from collections.abc import Mapping
from typing import Any

from studies.importers.items.personas import MAX_TEXT
from studies.importers.sets.data_set import fact, lower_first
from studies.importers.sets.files import SetFile, json_rows
from studies.importers.sets.tally import Tally
from studies.texts.normalisation import storable

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
    """A country as written after “in”."""
    article = country.startswith("United ") or country in _WITH_ARTICLE
    return f"the {country}" if article else country
