"""Settings of a study that extras add, each section in a table of its own.

The page *Settings*, the API, `create_study`, copies and studies as files have them, under the names
of the table's fields. On a study that is created or edited they are attributes, like its own.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.db import models

from studies.extra import Kind

if TYPE_CHECKING:
    from studies.models.studies import Study


class AddedSettings(models.Model):
    """A section: whole numbers with limits, whose names and hints are those of the fields.

    A study without a row has the defaults. `clean` may compare them with the study's own.
    """

    name: ClassVar[str]  # the heading
    study = models.OneToOneField("studies.Study", on_delete=models.PROTECT, related_name="+")

    class Meta:
        abstract = True

    def consent_sentence(self) -> str:
        """What annotators are told before they agree."""
        return ""

    @classmethod
    def settings(cls) -> dict[str, "models.Field[Any, Any]"]:
        fields = {field.name: field for field in cls._meta.concrete_fields}
        return {name: field for name, field in fields.items() if name not in ("id", "study")}

    @classmethod
    def of(cls, study: "Study") -> Self:
        return cls._default_manager.filter(study=study.pk).first() or cls(study=study)


SECTIONS: Kind[type[AddedSettings]] = Kind("holdings", "settings")


def added_fields() -> dict[str, "models.Field[Any, Any]"]:
    """The field of each added setting."""
    return {name: field for section in SECTIONS for name, field in section.settings().items()}


def fields_on(study: "Study") -> list[tuple[str, tuple[str, ...]]]:
    """The sections that are on in a study: the heading, and the names of the settings."""
    return [(section.name, tuple(section.settings())) for section in SECTIONS.of(study)]


def extras_of(settings: Mapping[str, Any]) -> set[str]:
    """The extras with a setting whose value is not its default."""
    return {
        SECTIONS.extra_of(section.name)
        for section in SECTIONS
        for name, field in section.settings().items()
        if name in settings and settings[name] != field.get_default()
    }


def read_added(study: "Study") -> dict[str, Any]:
    """The added settings of a study, which become attributes of it unless they are already."""
    for section in SECTIONS:
        if missing := section.settings().keys() - vars(study).keys():
            row = section.of(study)
            vars(study).update({name: getattr(row, name) for name in missing})
    return {name: getattr(study, name) for name in added_fields()}


def clean_added(study: "Study") -> None:
    """Raises `ValidationError` by the names of the settings."""
    values = read_added(study)
    for section in SECTIONS:
        row = section(study=study, **{name: values[name] for name in section.settings()})
        row.full_clean(exclude=["study"], validate_constraints=False)


def store_added(study: "Study") -> None:
    """Store the added settings of a stored study."""
    values = read_added(study)
    for section in SECTIONS:
        row = section.of(study)
        before = {name: getattr(row, name) for name in section.settings()}
        if (now := {name: values[name] for name in before}) != before:
            vars(row).update(now)
            row.save()


def consent_sentences(study: "Study") -> Iterator[str]:
    """What extras have to say in the consent text, in the current language."""
    return filter(None, (section.of(study).consent_sentence() for section in SECTIONS.of(study)))
