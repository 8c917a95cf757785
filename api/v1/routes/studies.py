"""Studies: list, create, read, change, open and close."""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from django.core.exceptions import PermissionDenied
from django.core.validators import BaseValidator
from django.http import HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import ConfigDict, Field, create_model

from api.v1.access import EDITOR, READ, WRITE, needs, refuse_form, study_of, user_of
from api.v1.responses import PageOf, PageQuery, page
from studies.errors import FrozenStudy
from studies.models import Membership, Study
from studies.models.added_settings import added_fields, extras_of, read_added
from studies.money import major_units
from studies.pages.listing import list_studies, role_of, study_figures
from studies.pages.settings_views import MAY_CREATE, SettingsForm
from studies.services.presets import PRESETS, extras_of_preset
from studies.services.settings import fixed_settings, save_settings
from studies.services.studies import StateNote, change_state, create_study, open_draft

router = Router(tags=["studies"])
# Not a value that a program can send: omit an optional setting instead of sending null.
_NOT_GIVEN: Any = None
_SMALL = 32_767  # the largest number that the database stores in these fields


class Criterion(Schema):
    name: str
    description: str = ""


def with_added(schema: type[Schema]) -> Any:
    """The schema with the settings of extras."""
    fields: dict[str, Any] = {}
    for name, field in added_fields().items():
        checks = (
            validator for validator in field.validators if isinstance(validator, BaseValidator)
        )
        limits = {validator.code: validator.limit_value for validator in checks}
        limited = Field(
            _NOT_GIVEN,
            ge=limits["min_value"],
            le=limits["max_value"],
            description=str(field.help_text),
        )
        fields[name] = int, limited
    return create_model(schema.__name__, __base__=schema, __doc__=schema.__doc__, **fields)


@with_added
class Settings(Schema):
    """A study's settings, explained in docs/formats.md and on the page Settings."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(_NOT_GIVEN, min_length=1, max_length=200)
    task: Literal["preference", "survey_answer", "authorship", "question_answer_authorship"] = (
        Field(_NOT_GIVEN)
    )
    perspective: Literal["persona", "own"] = Field(_NOT_GIVEN)
    language: str = Field(_NOT_GIVEN, max_length=35)
    entry: Literal["prolific", "link", "list"] = Field(_NOT_GIVEN)
    contact: str = Field(_NOT_GIVEN, max_length=254)
    ask_certainty: bool = Field(_NOT_GIVEN)
    certainty_control: Literal["slider", "number", "levels"] = Field(_NOT_GIVEN)
    allow_tie: bool = Field(_NOT_GIVEN)
    tie_meaning: Literal["difference", "either"] = Field(_NOT_GIVEN)
    allow_changes: bool = Field(_NOT_GIVEN)
    persona_style: Literal["facts", "sentences"] = Field(_NOT_GIVEN)
    show_history: int = Field(_NOT_GIVEN, ge=0, le=_SMALL)
    phone_features: str = Field(
        _NOT_GIVEN,
        max_length=300,
        description="Keys of the features that phones show first, with commas; empty: all.",
    )
    show_markdown: bool = Field(
        _NOT_GIVEN, description="Whether people see the Markdown of responses as its layout."
    )
    allow_translation: bool = Field(
        _NOT_GIVEN, description="Whether browsers may translate the texts of items."
    )
    set_display: Literal["pairs", "whole"] = Field(
        _NOT_GIVEN, description="How annotators see sets of three to five responses."
    )
    criteria: list[Criterion] = Field(_NOT_GIVEN, max_length=20)
    extras: list[str] = Field(
        _NOT_GIVEN, max_length=100, description="Names of the designs and analyses that are on."
    )
    items_per_annotator: int = Field(_NOT_GIVEN, ge=1, le=_SMALL)
    annotations_per_item: int = Field(_NOT_GIVEN, ge=1, le=_SMALL)
    human_sample: int | None = Field(_NOT_GIVEN, ge=1, le=2_000_000_000)
    pause_when_full: bool = Field(
        _NOT_GIVEN,
        description="Whether recruiting on Prolific is paused when all answers are in.",
    )
    starts_per_hour: int | None = Field(
        _NOT_GIVEN,
        ge=0,
        le=1_000_000,
        description="Starts from one network address within an hour; 0: no limit, null: the usual.",
    )
    minutes: int = Field(_NOT_GIVEN, ge=1, le=_SMALL)
    reward: int = Field(
        _NOT_GIVEN, ge=0, le=1_000_000, description="Minor units, for example cents."
    )
    currency: str = Field(_NOT_GIVEN, pattern=r"^[A-Z]{3}$")
    certainty_threshold: int = Field(_NOT_GIVEN, ge=1, le=100)
    equivalence_margin: float = Field(_NOT_GIVEN, ge=0.001, le=0.5)
    researchers: str = Field(_NOT_GIVEN, max_length=300)
    storage: str = Field(_NOT_GIVEN, max_length=300)
    ethics: str = Field(_NOT_GIVEN, max_length=300)
    instructions: str = Field(_NOT_GIVEN)
    consent: str = Field(_NOT_GIVEN)
    debrief: str = Field(_NOT_GIVEN)
    ai_policy: str = Field(_NOT_GIVEN)
    machine_signs: Literal["off", "measured", "trap"] = Field(
        _NOT_GIVEN, description="Whether signs of programs among annotators are measured."
    )


if TYPE_CHECKING:
    PresetName = str
else:
    PresetName = Literal[("", *PRESETS)]


class NewStudy(Settings):
    slug: str = Field(
        "", max_length=60, description="The short name; if empty, it is derived from the title."
    )
    title: str = Field(min_length=1, max_length=200)
    preset: PresetName = Field("", description="Initial settings, quota and planned runs.")


class ChangedSettings(Settings):
    version: int | None = Field(
        None,
        ge=0,
        le=2_000_000_000,
        description="The `version` that you read; 409 if somebody else has changed the study "
        "since.",
    )


class NewState(Schema):
    model_config = ConfigDict(extra="forbid")

    state: Literal["open", "paused", "closed"]
    reason: str = Field(
        "", max_length=1_000, description="Why a draft opens despite a failed launch check."
    )


class StudyRow(Schema):
    slug: str
    title: str
    task: str
    entry: str
    state: Literal["draft", "open", "paused", "closed"]
    role: Literal["owner", "editor", "viewer"]
    is_archived: bool
    items: int = Field(description="Main items, without checks and practice.")
    answers: int = Field(description="Answers that fill a seat.")
    seats: int = Field(description="Answers needed.")
    created_at: datetime


class StudyOut(StudyRow):
    version: int
    is_frozen: bool = Field(description="Whether there are answers, which fix the content.")
    settings: dict[str, Any] = Field(description="As `PATCH` takes them.")


class ChangedState(StudyOut):
    notes: list[str] = Field(description="What was done on Prolific, or why that failed.")


@router.get("studies", response=PageOf[StudyRow], auth=needs(READ), operation_id="list_studies")
def index(
    request: HttpRequest,
    query: Query[PageQuery],
    state: Literal["", "draft", "open", "paused", "closed", "archived"] = "",
    search: str = "",
) -> dict[str, Any]:
    """The studies that you may read, by short name."""
    studies = list_studies(request.user, search=search, state=state).order_by("slug")
    if after := query.after("studies", str):
        studies = studies.filter(slug__gt=after[0])
    rows = list(studies[: query.limit + 1])
    roles = _roles(request, rows)
    return page(
        "studies",
        rows,
        query,
        key=lambda study: [study.slug],
        show=lambda study: _row(study, role=roles[study.pk], sizes=study),
    )


@router.post("studies", response={201: StudyOut}, auth=needs(WRITE), operation_id="create_study")
def create(request: HttpRequest, body: NewStudy) -> Status[dict[str, Any]]:
    """Create a draft study that you own."""
    user = user_of(request)
    if not user.has_perm(MAY_CREATE):
        raise PermissionDenied
    fields = body.dict(exclude_unset=True)
    slug, preset = fields.pop("slug", ""), fields.pop("preset", "")
    names = {*fields.pop("extras", extras_of_preset(preset)), *extras_of(fields)}
    study = Study(**(PRESETS[preset].settings if preset else {}) | {"extras": sorted(names)})
    study.clean_extras()
    form = _form(study, fields, slug=slug)
    created = create_study(
        slug=form.cleaned_data["slug"],
        owner=user,
        preset=preset,
        **form.values(),
        extras=study.extras,
    )
    return Status(201, _shown(request, created))


@router.get("studies/{slug}", response=StudyOut, auth=needs(READ), operation_id="read_study")
def read(request: HttpRequest, slug: str) -> dict[str, Any]:
    """A study with its settings."""
    return _shown(request, study_of(request, slug))


@router.patch("studies/{slug}", response=StudyOut, auth=needs(WRITE), operation_id="change_study")
def change(request: HttpRequest, slug: str, body: ChangedSettings) -> dict[str, Any]:
    """Change settings of a study; the first answer fixes those that answers depend on."""
    study = study_of(request, slug, EDITOR)
    fields = body.dict(exclude_unset=True)
    version = fields.pop("version", None)
    _check_frozen(study, fields)
    study.extras = sorted({*fields.pop("extras", study.extras), *extras_of(fields)})
    study.clean_extras()
    form = _form(study, fields)
    save_settings(
        form.instance, changed=[*fields, "extras"], user=user_of(request), version=version
    )
    return _shown(request, study_of(request, slug))


@router.post(
    "studies/{slug}/state", response=ChangedState, auth=needs(WRITE), operation_id="set_study_state"
)
def state(request: HttpRequest, slug: str, body: NewState) -> dict[str, Any]:
    """Open, pause or close a study; a draft opens only if its launch checks allow it."""
    study = study_of(request, slug, EDITOR)
    notes: list[StateNote] = []
    if study.state == Study.State.DRAFT and body.state == Study.State.OPEN:
        open_draft(study=study, reason=body.reason, user=user_of(request))
    else:
        _, notes = change_state(study_id=study.pk, state=body.state, user=user_of(request))
    values = _shown(request, study_of(request, slug))
    return values | {"notes": [note.text for note in notes]}


def _form(study: Study, fields: dict[str, Any], *, slug: str = "") -> SettingsForm:
    values = _settings(study) | fields
    values["pay"] = major_units(values.pop("reward"), values["currency"])
    form = SettingsForm(values | {"slug": slug, "version": study.version}, instance=study)
    if not form.is_valid():
        refuse_form(form)
    return form


def _check_frozen(study: Study, fields: dict[str, Any]) -> None:
    """Refuse settings that can no longer change, because the form would silently ignore them."""
    stored = _settings(study)
    if fixed := [
        name
        for name in fixed_settings(study)
        if fields.get(name, stored.get(name)) != stored.get(name)
    ]:
        why = "has answers or judgments" if study.frozen_at else "has annotators with items"
        raise FrozenStudy(
            f"“{study.slug}” {why}, so these settings cannot change: {', '.join(fixed)}. "
            "Nothing was saved."
        )


def _settings(study: Study) -> dict[str, Any]:
    read_added(study)
    values = {name: getattr(study, name) for name in Settings.model_fields}
    values["criteria"] = [
        {"name": name, "description": description} for name, description in study.shown_criteria
    ]
    return values


def _roles(request: HttpRequest, studies: Iterable[Study]) -> dict[int, str]:
    if request.user.is_superuser:
        return {study.pk: Membership.Role.OWNER for study in studies}
    rows = Membership.objects.filter(user=request.user.pk, study__in=[s.pk for s in studies])
    return dict(rows.values_list("study", "role"))


def _row(study: Study, *, role: str, sizes: Any) -> dict[str, Any]:
    return {
        "slug": study.slug,
        "title": study.title,
        "task": study.task,
        "entry": study.entry,
        "state": study.state,
        "role": role,
        "is_archived": study.archived_at is not None,
        "items": sizes.items,
        "answers": sizes.answers,
        "seats": sizes.seats,
        "created_at": study.created_at,
    }


def _shown(request: HttpRequest, study: Study) -> dict[str, Any]:
    row = _row(study, role=role_of(request.user, study), sizes=study_figures(study))
    more = {
        "version": study.version,
        "is_frozen": study.frozen_at is not None,
        "settings": _settings(study),
    }
    return row | more
