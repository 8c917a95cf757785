"""Creating a study, its settings, and whether model providers may receive its items."""

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from studies.errors import FrozenStudy, StaleVersion, StudyError
from studies.models import Membership, Study
from studies.models.added_settings import added_fields, fields_on, read_added
from studies.money import major_units, minor_units
from studies.pages.addressed import pressed
from studies.pages.listing import role_of
from studies.pages.responses import REFUSED, onward
from studies.prompts import language_name
from studies.selectors import get_study
from studies.services import studies as permission
from studies.services.items import expected_time
from studies.services.presets import PRESETS
from studies.services.settings import (
    READING_FIELDS,
    fixed_settings,
    locked_settings,
    save_settings,
)
from studies.services.studies import create_study
from studies.services.translations import REVIEWED, mark_reviewed, marked, reviews, texts_hash
from studies.texts.languages import language_of_texts
from studies.texts.markdown import as_lines, from_lines

GROUPS = (
    ("The study", ("title", "slug", "task", "perspective", "language", "entry", "contact")),
    (
        "Questions to annotators",
        (
            "ask_certainty",
            "certainty_control",
            "allow_tie",
            "tie_meaning",
            "allow_changes",
            "persona_style",
            "show_history",
            "phone_features",
            "show_markdown",
            "allow_translation",
            "set_display",
            "criteria",
        ),
    ),
    ("Number of answers", ("items_per_annotator", "annotations_per_item", "human_sample")),
    ("Time and pay", ("minutes", "pay", "currency")),
    ("Recruiting", ("pause_when_full", "starts_per_hour")),
    ("The items", ("licence",)),
    ("Analysis", ("certainty_threshold", "equivalence_margin")),
    ("Consent", ("researchers", "storage", "ethics", "consent", "ai_policy", "machine_signs")),
    ("Other texts", ("instructions", "debrief")),
)
_ADDED_AT = 3  # sections of extras come before the time and the pay
_OWN = ("The study", "Consent")
_NOT_COLUMNS = ("pay", "licence")
TRANSLATED = (
    ("en", "English"),
    ("ar", "العربية"),
    ("de", "Deutsch"),
    ("es", "Español"),
    ("fr", "Français"),
    ("it", "Italiano"),
    ("nl", "Nederlands"),
    ("pl", "Polski"),
    ("pt", "Português"),
    ("zh-hans", "中文(简体)"),
)
_LABELS = {
    "slug": "Short name",
    "perspective": "Annotators answer",
    "entry": "Recruitment",
    "contact": "Contact address",
    "ask_certainty": "Ask for certainty",
    "certainty_control": "Certainty input",
    "allow_tie": "Offer a third answer",
    "tie_meaning": "Meaning of the third answer",
    "allow_changes": "Allow changes to earlier answers",
    "persona_style": "Persona display",
    "show_history": "Number of the persona’s earlier choices",
    "phone_features": "Features that phones show first",
    "show_markdown": "Show Markdown in responses as layout",
    "allow_translation": "Let browsers translate items",
    "set_display": "Sets of three to five responses",
    "criteria": "Criteria",
    "items_per_annotator": "Items per annotator",
    "annotations_per_item": "Answers per item",
    "human_sample": "Number of items for annotators",
    "pause_when_full": "Pause recruiting on Prolific when all answers are in",
    "starts_per_hour": "Starts from one network address within an hour",
    "minutes": "Duration in minutes",
    "currency": "Currency",
    "certainty_threshold": "High-certainty threshold",
    "equivalence_margin": "Equivalence margin",
    "researchers": "Researchers",
    "storage": "Data storage",
    "ethics": "Ethics approval",
    "consent": "Consent text",
    "ai_policy": "Policy on AI assistants",
    "machine_signs": "Signs of programs",
}
_HINTS = {
    "title": "Shown to annotators at the top of every page.",
    "slug": "Used in addresses and commands: letters, digits, - and _. If empty, we derive it from "
    "the title. You cannot change it later.",
    "task": "What annotators and judges decide: which response the person would prefer, which "
    "answer this person would give in a survey, which response the person wrote, or which of two "
    "answers to different questions.",
    "perspective": "“For themselves” collects first-person answers: items show no profile.",
    "language": "The language of every page that annotators see.",
    "contact": "An e-mail address that annotators can write to.",
    "ask_certainty": "A number from 1 to 100 with every choice.",
    "certainty_control": "The slider starts without a value and has a number field next to it.",
    "allow_tie": "Below both responses. Annotators who choose it state no certainty.",
    "tie_meaning": "With “either could be right” the report also compares judges by the set of "
    "responses that people find possible.",
    "allow_changes": "Annotators can change answers until they finish. Every change is kept.",
    "show_history": "Enter 0 to show none. If annotators answer for themselves: how many of their "
    "answers others may see as examples. The consent page tells annotators.",
    "phone_features": "Keys with commas between them, for example age, occupation. On phones, the "
    "rest of a profile opens by a press. Leave empty to show all of it, as models get it.",
    "show_markdown": "Lists, tables and code, for annotators only. Judges get the text as it is. "
    "Pictures and addresses are not loaded or linked.",
    "allow_translation": "If not, pages ask browsers to leave profiles, questions and responses as "
    "they are. A translated page is noticed either way, and stored with the answer.",
    "set_display": "Only for items that were imported with three to five responses. On one screen, "
    "annotators put all of them in order, and each set counts as one item for them. You cannot "
    "change this once annotators have items.",
    "criteria": "Criteria for responses, one per line, for example “Clarity: easy to follow”. "
    "Annotators see them above the responses. Judges see them only in the setting “criteria”.",
    "human_sample": "Drawn at random within topics, or by a judge’s certainty (Items, “For "
    "annotators”). Leave empty for all items. Judges can always answer all items.",
    "pause_when_full": "Anybody who came afterwards would be paid for answers that the study does "
    "not need. The places of a full quota group are paused if each group has its own study.",
    "starts_per_hour": "A script that opens the link again and again could take every seat. A "
    "class in one room has one address, so enter more than its students. Returning is never "
    "limited, nor are people on a list. Leave empty for the usual limit: 200 by an open link, and "
    "2,000 by Prolific’s links. 0 means no limit.",
    "minutes": "Sets the hourly pay, the time limit and the number of attention checks.",
    "currency": "Three letters, for example USD.",
    "certainty_threshold": "From 1 to 100. The report compares answers above and below it.",
    "equivalence_margin": "The largest difference in accuracy that still counts as comparable. "
    "0.05 is five percentage points. Set it before you collect data.",
    "instructions": "Markdown. Leave empty to use the standard instructions of the task.",
    "researchers": "Names and institution, for example Ada Lovelace, University of Exampleton.",
    "storage": "Place and duration, for example: on servers of the university in the EU, for ten "
    "years.",
    "ethics": "Board and reference, for example Ethics Committee 2026/17.",
    "consent": "Markdown. Leave empty to use the standard text. We always add the time, the pay, "
    "the contact address and the three facts above.",
    "debrief": "Markdown. Leave empty to use the standard text.",
    "ai_policy": "Markdown. Shown in the consent text and with every item. Leave empty to show "
    "nothing.",
    "machine_signs": "For each answer, the page counts how often it was left, and how mouse, touch "
    "screen and keyboard were used. The consent text says so. Annotators with counts like those of "
    "a program are flagged, without automatic consequences. Hidden instructions need a certainty.",
}
_LATE = " This study has answers or judgments: changes are logged, and every report mentions them."


class CriteriaField(forms.CharField):
    """Criteria of a study, one per line."""

    widget = forms.Textarea(attrs={"rows": 4, "cols": 72})

    def prepare_value(self, value: Any) -> Any:
        return as_lines(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> Any:
        return value if isinstance(value, list) else from_lines(super().clean(value))

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return not self.disabled and from_lines(data or "") != (initial or [])
        except forms.ValidationError:
            return True


@dataclass(frozen=True)
class SettingsGroup:
    title: str
    fields: list[forms.BoundField]
    has_error: bool


class SettingsForm(forms.ModelForm):
    """The settings of a study; the first answer fixes those that answers depend on."""

    pay = forms.DecimalField(
        label="Pay per annotator",
        min_value=0,
        max_value=10_000,
        decimal_places=2,
        help_text="For the whole task, for example 4.50. Leave empty or enter 0 for no pay.",
        required=False,
    )
    licence = forms.CharField(
        label="Licence of the items",
        max_length=200,
        help_text="For example CC BY 4.0, or “own texts”. Exports and data cards state it.",
        required=False,
    )
    criteria = CriteriaField(
        label=_LABELS["criteria"], help_text=_HINTS["criteria"], required=False
    )
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)

    class Meta:
        model = Study
        fields = [name for _, names in GROUPS for name in names if name not in _NOT_COLUMNS]
        labels = _LABELS
        help_texts = _HINTS
        widgets = {
            name: forms.Textarea(attrs={"rows": 5, "cols": 72})
            for name in ("instructions", "consent", "debrief", "ai_policy")
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        study = self.instance
        self.fields["language"] = forms.ChoiceField(
            label="Language", help_text=_HINTS["language"], choices=_languages(study)
        )
        self.fields["slug"].required = False
        reward = self.initial.pop("reward", study.reward)
        self.initial.setdefault("pay", major_units(reward, study.currency))
        self.initial.setdefault("licence", study.source.get("licence", ""))
        self.initial["version"] = study.version
        values = read_added(study)
        self.added = [name for _, names in fields_on(study) for name in names]
        for name in self.added:
            self.fields[name] = cast(forms.Field, added_fields()[name].formfield())
            self.initial.setdefault(name, values[name])
        fixed = () if self.is_new else ("slug", *fixed_settings(study))
        for name in fixed:
            self.fields[_field_of(name)].disabled = True
        for name, why in () if self.is_new else locked_settings(study).items():
            self.fields[_field_of(name)].help_text += f" {why}"
        for name in READING_FIELDS if study.frozen_at else ():
            self.fields[name].help_text += _LATE

    def lock(self) -> None:
        """Make every setting read-only."""
        for field in self.fields.values():
            field.disabled = True

    def fixed_meanwhile(self) -> list[str]:
        """Fixed settings for which another value was sent: the page was opened before."""
        labels = []
        for name, field in self.fields.items():
            if field.disabled and name != "slug" and name in self.data:
                field.disabled = False  # one that is disabled never counts as changed
                if field.has_changed(self.get_initial_for_field(field, name), self[name].data):
                    labels.append(str(field.label))
                field.disabled = True
        return labels

    @property
    def is_new(self) -> bool:
        return self.instance.pk is None

    def groups(self) -> Iterator[tuple[str, list[forms.BoundField]]]:
        for title, names in (*GROUPS[:_ADDED_AT], *fields_on(self.instance), *GROUPS[_ADDED_AT:]):
            yield title, [self[name] for name in names]

    @property
    def own_groups(self) -> list[SettingsGroup]:
        """What only the researcher knows, and who takes part and how."""
        return [group for group in self._settings_groups() if group.title in _OWN]

    @property
    def preset_groups(self) -> list[SettingsGroup]:
        """What a preset has set; a group with an error is open."""
        return [group for group in self._settings_groups() if group.title not in _OWN]

    def _settings_groups(self) -> list[SettingsGroup]:
        return [
            SettingsGroup(title, fields, any(field.errors for field in fields))
            for title, fields in self.groups()
        ]

    def clean_currency(self) -> str:
        return str(self.cleaned_data["currency"]).upper()

    def clean_slug(self) -> str:
        """The name as given, or made from the title."""
        slug = self.cleaned_data["slug"] or slugify(self.cleaned_data.get("title", ""))[:60]
        if not slug:
            raise forms.ValidationError("Enter a short name: it cannot be derived from this title.")
        return str(slug)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        vars(self.instance).update({n: data[n] for n in self.added if n in data})
        if "currency" in data and "pay" in data:
            self.instance.reward = minor_units(data["pay"] or Decimal(0), data["currency"])
        if "licence" in data and data["licence"] != self.instance.source.get("licence", ""):
            # The address of another licence goes with it.
            kept = {k: v for k, v in self.instance.source.items() if not k.startswith("licence")}
            named = {"licence": data["licence"]} if data["licence"] else {}
            self.instance.source = kept | named
        return data

    def validate_unique(self) -> None:
        """Leave the check for taken names to the service, which has its own message."""

    def values(self) -> dict[str, Any]:
        """The submitted settings, under the names of the study's fields."""
        names = [*(name for name in self.Meta.fields if name != "slug"), *self.added]
        values = {"reward": self.instance.reward, "source": self.instance.source}
        return {name: self.cleaned_data[name] for name in names} | values

    def changed_fields(self) -> list[str]:
        """The changed settings, under the names of the study's fields."""
        changed = [name for name in self.changed_data if name != "version"]
        return [{"pay": "reward", "licence": "source"}.get(name, name) for name in changed]


def _field_of(name: str) -> str:
    """The form's field for a field of the study."""
    return "pay" if name == "reward" else name


def _languages(study: Study) -> list[tuple[str, str]]:
    """The languages of the annotators' pages, and the study's own if it is another."""
    known = marked(study, TRANSLATED)
    own = study.language
    return known if own in dict(known) else [*known, (own, own)]


MAY_CREATE = "studies.add_study"


@require_http_methods(["GET", "POST"])
@login_required
def new(request: HttpRequest) -> HttpResponse:
    """Create a draft study of this user; a preset fills what they have not filled in."""
    user = cast(User, request.user)
    if not user.has_perm(MAY_CREATE):
        raise PermissionDenied
    chosen = request.POST.get("preset") or request.GET.get("preset", "")
    if request.method == "POST" and "preset" not in request.POST:
        chosen = request.POST.get("chosen", chosen)
        form = _new_form(chosen, request.POST)
    else:
        form = _new_form(chosen, initial=_touched(request.POST) if request.POST else {})
    if form.is_valid():
        try:
            study = create_study(
                slug=form.cleaned_data["slug"],
                owner=user,
                preset=chosen if chosen in PRESETS else "",
                **form.values(),
            )
        except StudyError as error:
            form.add_error("slug", str(error))
        except ValidationError as error:
            form.add_error("slug" if "slug" in error.message_dict else None, _plain(error))
        else:
            messages.success(request, "Study created as a draft. Next, import items.")
            return redirect("studies:detail", study.slug)
    context = {"form": form, "presets": PRESETS, "chosen": chosen, "is_typed": bool(request.POST)}
    return _page(request, "studies/new.html", form, context)


def _new_form(
    preset: str, data: QueryDict | None = None, *, initial: Mapping[str, Any] | None = None
) -> SettingsForm:
    known = PRESETS.get(preset)
    settings = {**(known.settings if known else {}), **(initial or {})}
    return SettingsForm(data, instance=Study(), initial=settings)


def _touched(sent: QueryDict) -> dict[str, Any]:
    """The values that differ from those of the preset with which the form was shown."""
    form = _new_form(sent.get("chosen", ""), sent)
    return {name: form[name].data for name in form.changed_data if name != "version"}


@require_http_methods(["GET", "POST"])
@login_required
def settings(request: HttpRequest, slug: str) -> HttpResponse:
    """Edit a study; the first answer fixes settings that answers depend on.

    Viewers see the settings and cannot change them.
    """
    role = Membership.Role.EDITOR if request.method == "POST" else Membership.Role.VIEWER
    study = get_study(request.user, slug, role=role)
    if pressed(request, "do", "reviewed") == "reviewed":
        return _reviewed(request, study)
    data = request.POST if request.method == "POST" else None
    form = SettingsForm(data, instance=copy(study))
    if form.is_valid() and (fixed := form.fixed_meanwhile()):
        names = ", ".join(fixed)
        fault = f"These settings can no longer change: {names}. Nothing was saved. Save the rest?"
        return _overtaken(request, slug, form, fault)
    if form.is_valid():
        try:
            save_settings(
                form.instance,
                changed=form.changed_fields(),
                user=cast(User, request.user),
                version=form.cleaned_data["version"],
            )
        except (StaleVersion, FrozenStudy) as error:
            return _overtaken(request, slug, form, str(error))
        messages.success(request, "Settings saved.")
        return onward(request, slug, "studies:detail")
    may_edit = role_of(request.user, study) != Membership.Role.VIEWER
    if not may_edit:
        form.lock()
    if expected := expected_time(study):
        form.fields["minutes"].help_text += f" {expected.words}, plus the time for other pages."
    context = {"study": study, "form": form, "may_edit": may_edit, **_translation(study)}
    return _page(request, "studies/settings.html", form, context)


def _translation(study: Study) -> dict[str, Any]:
    """Who reviewed the texts in the study's language, or what a review would be of."""
    language = language_of_texts(study.language)
    if language in REVIEWED:
        return {}
    review = reviews(study).get(language)
    return {
        "language_read": language_name(language),
        "review": review,
        "reviewer": review.user or review.detail["by"] if review else "",
        "texts": texts_hash(language),
    }


def _reviewed(request: HttpRequest, study: Study) -> HttpResponse:
    """Store that the user reviewed the translation of the study's pages."""
    try:
        mark_reviewed(study, texts=request.POST.get("texts", ""), user=cast(User, request.user))
    except StudyError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "Translation marked as reviewed.")
    return redirect("studies:settings", study.slug)


def _overtaken(request: HttpRequest, slug: str, form: SettingsForm, fault: str) -> HttpResponse:
    """Show the submitted values next to the stored ones; the user decides whether to save again."""
    stored = Study.objects.get(slug=slug)
    theirs = SettingsForm(instance=stored)
    sent = request.POST.copy()
    sent["version"] = str(stored.version)
    again = SettingsForm(sent, instance=stored)
    differing = [
        (field.label, theirs[field.name].value(), form[field.name].value())
        for _, fields in form.groups()
        for field in fields
        if not field.field.disabled
        and str(theirs[field.name].value() or "") != str(form[field.name].value() or "")
    ]
    context = {"study": stored, "form": again, "fault": fault, "differing": differing}
    context["may_edit"] = True
    return render(request, "studies/settings.html", context, status=REFUSED)


def _page(
    request: HttpRequest, template: str, form: SettingsForm, context: dict[str, Any]
) -> HttpResponse:
    return render(request, template, context, status=REFUSED if form.errors else 200)


def _plain(error: ValidationError) -> str:
    return " ".join(text for texts in error.message_dict.values() for text in texts)


CONFIRM, FORBID, FOLLOW = "confirm", "forbid", "follow"


class SharingForm(forms.Form):
    decision = forms.ChoiceField(
        label="Decision",
        widget=forms.RadioSelect,
        choices=[
            (FOLLOW, "As the source of the items says"),
            (CONFIRM, "Items may be sent to providers"),
            (FORBID, "Items must not be sent to providers"),
        ],
    )
    reason = forms.CharField(
        label="Reason",
        required=False,
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Needed if items may be sent. The activity log keeps it with your name.",
    )


@require_GET
@login_required
def providers(request: HttpRequest, slug: str) -> HttpResponse:
    """Show which providers may receive the profiles, and the form to decide it."""
    study = get_study(request.user, slug)
    chosen = {"": FOLLOW, permission.CONFIRMED: CONFIRM, permission.FORBIDDEN: FORBID}
    decision = chosen[study.sharing.get("providers", "")]
    initial = {"decision": decision, "reason": study.sharing.get("reason", "")}
    return _providers_page(request, study, SharingForm(initial=initial))


@require_POST
@login_required
def decide(request: HttpRequest, slug: str) -> HttpResponse:
    """Store the decision of an owner."""
    study = get_study(request.user, slug, role=Membership.Role.OWNER)
    user = cast(User, request.user)
    form = SharingForm(request.POST)
    if form.is_valid():
        decision = form.cleaned_data["decision"]
        try:
            if decision == CONFIRM:
                reason = form.cleaned_data["reason"]
                permission.confirm_providers(study_id=study.pk, reason=reason, by=user)
            elif decision == FORBID:
                permission.forbid_providers(study_id=study.pk, by=user)
            else:
                permission.follow_source(study_id=study.pk, by=user)
        except StudyError as error:
            form.add_error("reason", str(error))
        else:
            messages.success(request, "The decision is saved and logged.")
            return redirect("studies:providers", slug)
    return _providers_page(request, study, form)


def _providers_page(request: HttpRequest, study: Study, form: SharingForm) -> HttpResponse:
    context = {
        "study": study,
        "form": form,
        "forbids": permission.forbids_providers(study),
        "is_forbidden_by_source": permission.is_forbidden_by_source(study),
        "is_owner": role_of(request.user, study) == Membership.Role.OWNER,
    }
    status = REFUSED if form.errors else 200
    return render(request, "studies/providers.html", context, status=status)
