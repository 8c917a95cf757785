"""The people of OpinionQA: demographic columns as features of a persona."""

from collections.abc import Mapping
from typing import Any

from studies.importers.sets.data_set import fact, lower_first
from studies.texts.normalisation import storable

# column, key, label, sentence
_FACTS = (
    ("CREGION", "region", "Region", "The person lives in the {value} of the United States."),
    ("AGE", "age", "Age", "The person is {value} years old."),
    ("SEX", "sex", "Sex", "The person is {lower}."),
    ("EDUCATION", "education", "Education", "The person's highest level of education is: {lower}."),
    ("CITIZEN", "citizenship", "US citizen", ""),
    ("MARITAL", "marital_status", "Marital status", "The person's marital status is: {lower}."),
    ("RELIG", "religion", "Religion", "The person's religious affiliation is: {lower}."),
    (
        "RELIGATTEND",
        "religious_attendance",
        "Religious services",
        "The person attends religious services: {lower}.",
    ),
    ("POLPARTY", "politics", "Party", "The person's party affiliation is: {value}."),
    ("INCOME", "income", "Income", "The person's yearly income is: {lower}."),
    ("POLIDEOLOGY", "ideology", "Political views", "The person's political views are {lower}."),
    ("RACE", "ethnicity", "Ethnicity", "The person's ethnicity is {value}."),
)
_PROPER = {"RELIG"}
_CITIZEN = {
    "Yes": "The person is a citizen of the United States.",
    "No": "The person is not a citizen of the United States.",
}
_UNSAID = {"", "nan", "none"}


def persona(key: str, row: Mapping[str, str], *, keep: str) -> dict[str, Any]:
    """A respondent's statements about themselves; with `keep` = “keep”, refusals too."""
    features = []
    for column, name, label, sentence in _FACTS:
        value = storable(row.get(column, ""))
        if value.casefold() in _UNSAID:
            continue
        if is_refusal(value):
            if keep == "keep":
                text = f"Asked about this, the person refused to answer: {label.lower()}."
                features.append(fact(name, label, "Refused", text))
            continue
        lower = value if column in _PROPER else lower_first(value)
        text = _CITIZEN.get(value, "") if column == "CITIZEN" else ""
        text = text or (sentence or "Citizenship: {value}.").format(value=value, lower=lower)
        features.append(fact(name, label, value, text))
    return {"id": key, "features": features}


def is_refusal(value: str) -> bool:
    """“Refused”, “DK/Refused”, “Don't know”: no statement."""
    text = value.casefold().replace("’", "'")
    return "refused" in text or text.startswith("don't know")
