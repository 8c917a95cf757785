"""Questions of “About you” that studies often balance, with the names of Prolific's filters."""

from collections.abc import Collection

from django.utils import translation
from django.utils.text import slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from annotation.models import DemographicQuestion
from annotation.seats.quotas import QuotaQuestion
from studies.models import Study


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
        _ready("gender", _("What is your gender?"), _("Woman"), _("Man"), _("Non-binary")),
        _ready("age", _("How old are you?"), "18–29", "30–44", "45–59", _("60 or older")),
        _ready(
            "politics",
            _("Generally speaking, what do you consider yourself?"),
            _("Democrat"),
            _("Republican"),
            _("Independent"),
        ),
        _ready(
            "education",
            _("What is the highest level of education that you completed?"),
            _("No formal education"),
            _("Secondary school"),
            _("Vocational training"),
            _("Bachelor’s degree"),
            _("Master’s degree or higher"),
        ),
    )
}
NAMES = {
    "gender": "gender",
    "age": "age",
    "politics": "political affiliation",
    "education": "education",
}


def ready_question(study: Study, key: str) -> QuotaQuestion:
    """A ready-made question in the language of a study; its values are the same in every one."""
    ready = READY[key]
    with translation.override(study.page_language):
        options = {value: gettext(label) for value, label in ready.options.items()}
        return QuotaQuestion(key, gettext(ready.label), options)
