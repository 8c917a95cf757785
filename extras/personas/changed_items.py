"""A linked study that also asks each item about a changed persona, and its page."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from studies.errors import StudyError
from studies.exporters.items import raw_item
from studies.importers.items.twins import key_with, store_twin
from studies.media import Media, keeper
from studies.models import Item, Membership, Persona, Study
from studies.pages.new_study_form import NewStudyForm
from studies.pages.settings_views import MAY_CREATE
from studies.selectors import get_study
from studies.services.items import seat_items, study_content_hash
from studies.services.related_studies import KindOfCopy
from studies.services.studies import record
from studies.services.whole_studies import copy_study

SOURCE = "counterfactual"  # the key in a study's source, and in the notes of changed items
COPIES = KindOfCopy(SOURCE, "with changed personas", "whose personas it changes")
StatedFact = Mapping[str, Any]
MARK = ":changed-"  # between the key of an item or a persona and the feature that is changed


@dataclass(frozen=True, kw_only=True)
class WantedChange:
    """The features to change, each in its own twin.

    A single feature can get `value`; otherwise each persona gets another value from the study,
    drawn once. `limit` keeps the first items by key.
    """

    features: Sequence[str]
    value: str = ""
    limit: int | None = None


@dataclass(frozen=True)
class PersonaChange:
    """One changed fact of an item's persona."""

    feature: str
    old: StatedFact
    new: StatedFact

    @property
    def note(self) -> dict[str, str]:
        """What the changed item records about it."""
        words = {"from": str(self.old["value"]), "to": str(self.new["value"])}
        return {"feature": self.feature} | words


@dataclass(frozen=True)
class Changes:
    """The changes by item key, for items with all of them, and the labels of features."""

    by_item: Mapping[str, Sequence[PersonaChange]]
    labels: Mapping[str, str]


def planned_changes(study: Study, wanted: WantedChange) -> Changes:
    """The items that can be changed in every feature. Raises `StudyError` if none can."""
    _check(study, wanted)
    facts = {feature: _values_of(study, feature) for feature in wanted.features}
    if wanted.value and wanted.value not in facts[wanted.features[0]]:
        known = ", ".join(f"“{fact}”" for fact in sorted(facts[wanted.features[0]])[:10])
        raise StudyError(
            f"No persona has “{wanted.value}” as “{wanted.features[0]}”. Known values: "
            f"{known or 'none'}."
        )
    of_persona = {
        persona.pk: changes
        for persona in Persona.objects.filter(study=study)
        if (changes := _changes_of(study, persona, facts, wanted.value))
    }
    by_item = {}
    rows = Item.objects.filter(study=study).order_by("key")
    for key, persona in rows.values_list("key", "persona_id"):
        if persona in of_persona:
            by_item[key] = of_persona[persona]
        if wanted.limit is not None and len(by_item) == wanted.limit:
            break
    if not by_item:
        words = " and of ".join(f"“{name}”" for name in wanted.features)
        raise StudyError(f"No persona can get another value of {words}: the study has only one.")
    labels = {feature: next(iter(facts[feature].values()))["label"] for feature in wanted.features}
    return Changes(by_item, labels)


def changeable_features(study: Study) -> dict[str, tuple[str, int]]:
    """The features with two values or more, by key: the label, and the number of values."""
    labels: dict[str, str] = {}
    values: dict[str, set[str]] = {}
    for features in Persona.objects.filter(study=study).values_list("features", flat=True):
        for fact in features:
            labels.setdefault(fact["key"], fact["label"])
            values.setdefault(fact["key"], set()).add(str(fact["value"]))
    return {
        key: (labels[key], len(distinct))
        for key, distinct in sorted(values.items())
        if len(distinct) > 1
    }


def _check(study: Study, wanted: WantedChange) -> None:
    """Raise `StudyError` if the study, or the combination of features, cannot be changed."""
    if SOURCE in study.source:
        raise StudyError(
            "This study already has changed personas, and a twin of a twin would differ in two "
            f"features. Start from “{study.source[SOURCE]['from']}”."
        )
    if not wanted.features:
        raise StudyError("Choose at least one feature.")
    if len({mark_of(feature) for feature in wanted.features}) < len(wanted.features):
        raise StudyError(
            "Two of these features get the same name in the ids of changed items. Choose each "
            "feature once, or create a study for each."
        )
    if wanted.value and len(wanted.features) > 1:
        raise StudyError(
            "A value needs a single feature. Leave the value empty, or choose one feature."
        )


@transaction.atomic
def counterfactual_study(
    *, study_id: int, slug: str, wanted: WantedChange, title: str = "", by: User | None = None
) -> Study:
    """Create a draft with a study's items and, for each feature, twins with that feature changed.

    Free text and history stay. Items whose persona lacks a feature, or already has the new value,
    are left out, so that all features change in the same items. Changed items have no own answer.
    Raises `StudyError` as `planned_changes`, or if the short name is taken.
    """
    study = Study.objects.get(pk=study_id)
    changes = planned_changes(study, wanted)
    names = ", ".join(wanted.features)
    copy = copy_study(
        study_id=study.pk,
        slug=slug,
        title=title or f"{study.title}: another {names}"[:200],
        with_items=True,
        only={key: {} for key in changes.by_item},
        by=by,
        human_sample=None,
    )
    personas: dict[str, Persona] = {}
    media = keeper().stored(copy)
    for item in Item.objects.filter(study=copy).select_related("persona").order_by("key"):
        for change in changes.by_item[item.key]:
            _add_changed(copy, item, change, personas, media)
    changed = [
        {"feature": feature, "label": label, "mark": mark_of(feature)}
        for feature, label in changes.labels.items()
    ]
    copy.source = copy.source | {SOURCE: {"from": study.slug, "features": changed}}
    seat_items(copy)
    copy.content_hash = study_content_hash(copy)
    copy.save(update_fields=["source", "content_hash"])
    record(
        copy,
        "counterfactual",
        user=by,
        of=study.slug,
        features=list(wanted.features),
        items=len(changes.by_item),
    )
    return copy


def mark_of(feature: str) -> str:
    """The key suffix of changed items and personas, in the characters that keys allow."""
    return MARK + re.sub(r"[^A-Za-z0-9._-]", "-", feature)


def _values_of(study: Study, feature: str) -> dict[str, dict[str, Any]]:
    """The facts about a feature by value, each with its first wording."""
    by_value: dict[str, dict[str, Any]] = {}
    for features in Persona.objects.filter(study=study).values_list("features", flat=True):
        for fact in features:
            if fact["key"] == feature:
                known = by_value.setdefault(str(fact["value"]), fact)
                if fact["text"] < known["text"]:
                    by_value[str(fact["value"])] = fact
    return by_value


def _changes_of(
    study: Study, persona: Persona, facts: Mapping[str, Mapping[str, StatedFact]], value: str
) -> list[PersonaChange]:
    """The change of every feature; empty if one cannot change."""
    changes = []
    for feature, known in facts.items():
        old = next((fact for fact in persona.features if fact["key"] == feature), None)
        new = "" if old is None else _other(study, persona.key, str(old["value"]), known, value)
        if old is None or not new:
            return []
        changes.append(PersonaChange(feature, old, known[new]))
    return changes


def _other(
    study: Study, persona: str, old: str, values: Mapping[str, StatedFact], value: str
) -> str:
    """The persona's new value; empty if there is none."""
    others = sorted(new for new in values if new != old)
    if value:
        return value if value in others else ""
    if not others:
        return ""
    digest = hashlib.blake2b(f"{study.seed}\0{persona}".encode(), digest_size=8).digest()
    return others[int.from_bytes(digest) % len(others)]


def _add_changed(
    copy: Study, item: Item, change: PersonaChange, personas: dict[str, Persona], media: Media
) -> None:
    """Store the same item about the changed persona, checked by the rules of the item format."""
    raw = raw_item(item)
    mark = mark_of(change.feature)
    raw["id"] = key_with(item.key, mark)
    raw["persona"] |= {
        "id": key_with(item.persona.key, mark),
        "features": [
            fact | {name: change.new[name] for name in ("value", "text")}
            if fact["key"] == change.feature
            else fact
            for fact in item.persona.features
        ],
    }
    raw["first_person"] = {"label": None, "tie": False, "source": "unknown"}
    raw["metadata"] |= {SOURCE: change.note | {"item": item.key}}
    store_twin(copy, raw, personas, media)


_SHOWN = 3


class ChangedPersonasForm(NewStudyForm):
    """The features to change, and the linked study."""

    features = forms.MultipleChoiceField(
        label="Attributes to change",
        widget=forms.CheckboxSelectMultiple,
        help_text="Each one is changed in separate items.",
        error_messages={"required": "Choose at least one attribute."},
    )
    value = forms.CharField(
        label="New value",
        required=False,
        help_text="Leave empty to draw another of this study’s values for each persona.",
    )
    limit = forms.IntegerField(
        label="Number of items",
        required=False,
        min_value=1,
        help_text="The first ones by id. Leave empty for all that can be changed.",
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = changeable_features(study)
        self.choices = [
            (key, f"{label} ({values:,} values)") for key, (label, values) in known.items()
        ]
        cast(forms.MultipleChoiceField, self.fields["features"]).choices = self.choices
        self.initial = {"slug": f"{study.slug[:52]}-changed"}

    def wanted(self) -> WantedChange:
        chosen = self.cleaned_data
        return WantedChange(
            features=chosen["features"], value=chosen["value"], limit=chosen["limit"]
        )


@dataclass(frozen=True)
class ChangePreview:
    """A preview of the linked study, with a few of its items."""

    items: int
    twins: int
    answers: int
    shown: list[tuple[Item, list[PersonaChange]]]

    @classmethod
    def of(cls, study: Study, changes: Changes) -> "ChangePreview":
        n, features = len(changes.by_item), len(changes.labels)
        keys = list(islice(changes.by_item, _SHOWN))
        items = Item.objects.filter(study=study, key__in=keys).order_by("key")
        return cls(
            n,
            n * features,
            n * (1 + features) * study.annotations_per_item,
            [(item, list(changes.by_item[item.key])) for item in items],
        )


@require_http_methods(["GET", "POST"])
@login_required
def changed_personas(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the form; a POST shows some changed items, or creates the linked study."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    user = cast(User, request.user)
    if request.method == "GET":
        return _page(request, study, ChangedPersonasForm(study=study))
    if not user.has_perm(MAY_CREATE):
        raise PermissionDenied
    form, preview = ChangedPersonasForm(request.POST, study=study), None
    if form.is_valid():
        with form.refusals():
            if "preview" in request.POST:
                preview = ChangePreview.of(study, planned_changes(study, form.wanted()))
                return _page(request, study, form, preview)
            new = counterfactual_study(
                study_id=study.pk, slug=form.cleaned_data["slug"], wanted=form.wanted(), by=user
            )
            messages.success(request, "The new study is a draft with each item and its twins.")
            return redirect("studies:detail", new.slug)
    return _page(request, study, form, preview, status=422)


def _page(
    request: HttpRequest,
    study: Study,
    form: ChangedPersonasForm,
    preview: ChangePreview | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    context = {
        "study": study,
        "form": form,
        "preview": preview,
        "may_create": cast(User, request.user).has_perm(MAY_CREATE),
    }
    return render(request, "personas/changed_personas.html", context, status=status)
