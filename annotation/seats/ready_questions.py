"""Questions of “About you” that studies often balance, with the names of Prolific's filters."""

from collections.abc import Collection

from django.utils.text import slugify

from annotation.models import DemographicQuestion
from annotation.seats.quotas import QuotaQuestion


def value_for(label: str, taken: Collection[str]) -> str:
    """A short unused name for exports, made of the words on the page."""
    base = slugify(label).replace("-", "_")[:36] or "option"
    names = [base, *(f"{base}_{number}" for number in range(2, 1000))]
    reserved = {*taken, DemographicQuestion.PREFER_NOT_TO_SAY}
    return next(name for name in names if name not in reserved)


def _ready(key: str, label: str, *options: str) -> QuotaQuestion:
    values: dict[str, str] = {}
    for option in options:
        values[value_for(option, values)] = option
    return QuotaQuestion(key, label, values)


READY = {
    question.key: question
    for question in (
        _ready("gender", "What is your gender?", "Woman", "Man", "Non-binary"),
        _ready("age", "How old are you?", "18–29", "30–44", "45–59", "60 or older"),
        _ready(
            "politics",
            "Generally speaking, what do you consider yourself?",
            "Democrat",
            "Republican",
            "Independent",
        ),
        _ready(
            "education",
            "What is the highest level of education that you completed?",
            "No formal education",
            "Secondary school",
            "Vocational training",
            "Bachelor’s degree",
            "Master’s degree or higher",
        ),
    )
}
NAMES = {
    "gender": "gender",
    "age": "age",
    "politics": "political affiliation",
    "education": "education",
}
