"""The form of a campaign: judges, questions, settings and budget."""

import hashlib
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.db.models import Q
from django.urls import reverse
from django.utils.html import format_html

from judging import deliveries
from judging.backends.backend import IMPORTED
from judging.bias.probe_choices import MITIGATIONS, choices_of_probes
from judging.errors import FieldError
from judging.models import Campaign, Judge, JudgeRun
from judging.protocols import framings, registry
from judging.runs.campaigns import PLAN_KEYS, SWEEPS, CampaignPlan, plan_of
from judging.runs.planned import planned_runs
from judging.runs.spec import asks_something
from studies.models import Study
from studies.personas import NAMED_SETS, known_keys, meant_by
from studies.prompts import base_of, is_prompt_language, language_name, prompt_languages
from studies.services.translations import marked

ORDER_WORDS = {
    "both": "Both orders: sends each question twice, which shows whether a judge prefers a side",
    "random": "One random order per item, balanced: half as many questions",
    "r1_first": "Response 1 first",
    "r2_first": "Response 2 first",
}


class CostedForm(forms.Form):
    """A form that spends money only after it has shown the cost."""

    @property
    def digest(self) -> str:
        """A hash of the requested work, sent back by the start button."""
        return hashlib.sha256(repr(sorted(self.cleaned_data.items())).encode()).hexdigest()[:16]

    @property
    def may_start(self) -> bool:
        """Whether the start button was pressed for exactly the work that was shown."""
        return "start" in self.data and self.data.get("shown") == self.digest

    def show(self, error: Exception) -> None:
        """Show a service's error next to its field, with the labels of this form."""
        if not isinstance(error, FieldError):
            self.add_error(None, str(error))
            return
        field = PLAN_KEYS.get(error.field, error.field)
        self.add_error(field if field in self.fields else None, error.worded(self._label))

    def _label(self, field: str) -> str:
        form_field = self.fields.get(PLAN_KEYS.get(field, field))
        return f"“{form_field.label}”" if form_field else field.replace("_", " ")


OWN_WORDS = "-"  # no wording can have this name and a version
_FEATURE_WORDS = {
    "all": "All features of the persona",
    "none": "No features: the question without the persona",
    "leave-one-out": "All features except one, once for each feature",
    "one-only": "One feature only, once for each feature",
}


def usual_settings(study: Study) -> list[str]:
    """The protocols that ask what annotators of the study are asked."""
    chosen = ["certainty"] if study.ask_certainty else ["standard"]
    return chosen + ["tie"] * study.allow_tie


def wordings_of(study: Study) -> list[tuple[str, str]]:
    """The words of the settings, and the versions of the study's own wordings."""
    own = study.prompt_templates.defer("exact_texts").order_by("name", "version")
    words = [
        (wording.reference, f"{wording}, for the setting “{wording.setting}”") for wording in own
    ]
    return [(OWN_WORDS, "The words of the setting"), *words]


def settings_for(study: Study) -> list[tuple[str, str]]:
    """The protocols with which a study can be judged."""
    return [
        (protocol.name, protocol.description)
        for protocol in registry.PROTOCOLS.of(study)
        if not protocol.needs_others
        and (study.criteria or not protocol.needs_criteria)
        and asks_something(protocol, study)
        and protocol.is_for(study)
    ]


def features_for(study: Study, keys: set[str]) -> list[tuple[str, str]]:
    """The parts of a persona that a run can show, whose features have these keys."""
    sets = dict(study.feature_sets.values_list("name", "keys")) | {
        name: members
        for name, members in NAMED_SETS.items()
        if all(meant_by(key, keys) for key in members)
    }
    sweeps = SWEEPS if len(keys) >= 2 else ()
    words = [(name, _FEATURE_WORDS[name]) for name in ("all", "none", *sweeps)]
    return words + [(name, f"Feature set “{name}”: {', '.join(of)}") for name, of in sets.items()]


def languages_for(study: Study) -> list[tuple[str, str]]:
    """The languages of prompts, that of the study first; none is chosen if it has no prompts."""
    names = dict(marked(study, ((code, language_name(code)) for code in prompt_languages())))
    own = names.pop(base_of(study.language), "")
    return [("", f"{own}, as in the study" if own else "Choose a language"), *names.items()]


def words_of(judge: Judge) -> str:
    """The name, model and prices of a judge."""
    if judge.price_input is None or judge.price_output is None:
        return f"{judge.name}: {judge.model}, no price set"
    prices = f"${judge.price_input.normalize():f} in, ${judge.price_output.normalize():f} out"
    old = f" ({judge.price_remark})" if judge.price_remark else ""
    return f"{judge.name}: {judge.model}, {prices} per million tokens{old}"


_REUSE_WORDS = (
    "Reuse judgments that other runs of the same model gave to exactly the same prompt, at no cost"
)
# Closed groups of fields that most campaigns leave unchanged, with their default values.
_GROUPS: dict[str, dict[str, tuple[Any, ...]]] = {
    "Persona, order and number of items": {
        "features": (["all"],),
        "orders": (JudgeRun.Orders.BOTH,),
        "limit": (None, ""),
    },
    "Wording, framing, language and reading of replies": {
        "wordings": ([OWN_WORDS],),
        "framings": ([framings.OBSERVER],),
        "language": (None, ""),
        "reading": (JudgeRun.Reading.LENIENT, None, ""),
    },
    "Bias probes and mitigations": {
        "probes": (None, [], [""]),
        "mitigations": (None, []),
    },
    "Samples": {
        "samples": (1, "1"),
    },
    "Name, token budget, batch service and reuse": {
        "name": (),
        "token_budget": (None, ""),
        "batch": (False, None),
        "extend": (),
        "reuse": (False, None),
    },
}


@dataclass(frozen=True)
class FieldGroup:
    """Fields in a closed part of a page, opened if one differs from its default or has a fault."""

    title: str
    fields: list[forms.BoundField]
    is_open: bool


@dataclass(frozen=True)
class SettingFamily:
    """Settings of one kind, opened if one is chosen."""

    title: str
    choices: list[Any]
    is_open: bool


class CampaignForm(CostedForm):
    """Judges and questions of a campaign; `plan` returns a campaign plan.

    It starts from the plan of the campaign `like`, and keeps values without a field here.
    """

    name = forms.CharField(
        max_length=120, label="Name", help_text="Shown as the title of the campaign."
    )
    judges = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple, label="Judges")
    settings = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple, label="Settings")
    features = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, label="Features of the persona", initial=["all"]
    )
    orders = forms.ChoiceField(
        choices=list(ORDER_WORDS.items()),
        widget=forms.RadioSelect,
        label="Order of the responses",
        initial=JudgeRun.Orders.BOTH,
    )
    probes = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Bias probes: each adds a run with changed prompts, and the run without the change",
    )
    mitigations = forms.MultipleChoiceField(
        required=False,
        choices=list(MITIGATIONS.items()),
        widget=forms.CheckboxSelectMultiple,
        label="Mitigations: each probe again with",
    )
    samples = forms.IntegerField(
        min_value=1,
        max_value=100,
        initial=1,
        label="Samples",
        help_text="How many times to send each question, each time with a different seed.",
    )
    limit = forms.IntegerField(
        min_value=1,
        required=False,
        label="Items",
        help_text="Uses only the first items. Leave empty for all.",
    )
    budget = forms.DecimalField(
        min_value=Decimal("0.01"),
        decimal_places=2,
        required=False,
        label="Budget, US dollars",
        help_text="For all runs together, checked before each request. Leave empty for no limit.",
    )
    token_budget = forms.IntegerField(
        min_value=1,
        required=False,
        label="Budget, tokens",
        help_text="For judges without a price. Leave empty for no limit.",
    )
    wordings = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        initial=[OWN_WORDS],
        required=False,
        label="Wordings",
    )
    framings = forms.MultipleChoiceField(
        choices=framings.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=[framings.OBSERVER],
        required=False,
        label="Framing",
        help_text="Whose judgment the judge is asked for. Each framing is a separate run.",
    )
    language = forms.ChoiceField(
        required=False,
        label="Language of the prompts",
        help_text=(
            "The language of the words around the items. The items’ own words are sent unchanged."
        ),
    )
    reading = forms.ChoiceField(
        choices=[
            (
                JudgeRun.Reading.LENIENT,
                "Lenient: also accept replies that name a response in other words",
            ),
            (JudgeRun.Reading.STRICT, "Strict: only accept replies in the requested form"),
        ],
        required=False,
        initial=JudgeRun.Reading.LENIENT,
        widget=forms.RadioSelect,
        label="Reading of replies",
    )
    batch = forms.BooleanField(
        required=False, label="Use the provider’s batch service: cheaper, with replies within a day"
    )
    extend = forms.BooleanField(
        required=False,
        label="Extend existing runs that have fewer samples or one order, instead of creating new "
        "runs. This changes the ids of these runs in reports",
    )
    reuse = forms.BooleanField(required=False, label=_REUSE_WORDS)

    def __init__(
        self,
        study: Study,
        data: Any = None,
        *,
        name: str,
        like: Campaign | None = None,
        judge: str = "",
    ) -> None:
        self._like: dict[str, Any] = asdict(plan_of(like)) if like else {}
        orders = self._like.get("orders", [JudgeRun.Orders.BOTH])
        initial = {"name": name, "settings": usual_settings(study), "judges": [judge]}
        initial |= self._like | {"orders": orders[0], "extend": bool(like)}
        if not any(self._like.get("probes", ())):
            initial.pop("probes", None)
        initial["wordings"] = [name or OWN_WORDS for name in self._like.get("wordings", [""])]
        super().__init__(data, initial=initial)
        known = self._like.get("judges", [])
        may_be_asked = Q(is_retired=False) | Q(name__in=known)
        askable = Judge.objects.filter(may_be_asked).exclude(model=IMPORTED)
        if deliveries.by_batch() is None:
            del self.fields["batch"]
        self._choices("settings", settings_for(study))
        language = self.fields["language"]
        assert isinstance(language, forms.ChoiceField)  # noqa: S101
        language.choices = languages_for(study)
        language.required = not is_prompt_language(study.language)
        self._choices("judges", [(judge.name, words_of(judge)) for judge in askable])
        if len(askable) == 1 and not like:
            self.initial["judges"] = [askable[0].name]
        self._choices("wordings", wordings_of(study))
        self.fields["wordings"].help_text = format_html(
            "Each wording is a separate run, so that you can compare them. "
            '<a href="{}">Write one</a>',
            reverse("judging:write-wording", args=[study.slug]),
        )
        keys = known_keys(study)
        features = features_for(study, keys)
        offered = {name for name, _ in features}
        planned = [features for _, features, _ in planned_runs(study).each]
        wanted = dict.fromkeys([*self._like.get("features", ()), *planned])
        others = [name for name in wanted if name not in offered]
        self._choices("features", features + [(name, f"Only {name}") for name in others])

        probes = choices_of_probes(sorted(keys), study.has_extra)
        known_probes = {name for name, _ in probes}
        added = [name for name in self._like.get("probes", ()) if name not in {"", *known_probes}]
        self._choices("probes", probes + [(name, name) for name in added])

    @property
    def digest(self) -> str:
        """Includes the extended campaign, which somebody else may change meanwhile."""
        return hashlib.sha256(f"{super().digest}{self._like}".encode()).hexdigest()[:16]

    @property
    def who(self) -> list[forms.BoundField]:
        return [self["judges"]]

    @property
    def how_much(self) -> list[forms.BoundField]:
        return [self["budget"]]

    @property
    def settings_by_family(self) -> list[SettingFamily]:
        """The choices of the setting, starting with the common ones, without a title."""
        families: dict[str, list[Any]] = {"": []}
        for choice in self["settings"].subwidgets:
            family = registry.protocol(choice.data["value"]).family
            families.setdefault(family, []).append(choice)
        return [
            SettingFamily(title, choices, any(choice.data["selected"] for choice in choices))
            for title, choices in families.items()
        ]

    @property
    def groups(self) -> list[FieldGroup]:
        """The settings that most campaigns leave unchanged."""
        return [
            FieldGroup(
                title,
                [self[name] for name in usual if name in self.fields],
                any(
                    self._is_unusual(self[name], values)
                    for name, values in usual.items()
                    if name in self.fields
                ),
            )
            for title, usual in _GROUPS.items()
        ]

    @staticmethod
    def _is_unusual(field: forms.BoundField, usual: tuple[Any, ...]) -> bool:
        return bool(field.errors) or field.value() not in (usual or (field.initial,))

    def _choices(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.MultipleChoiceField)  # noqa: S101
        field.choices = choices

    def plan(self) -> CampaignPlan:
        chosen = dict(self.cleaned_data)
        juries = {
            name: members
            for name, members in self._like.get("juries", {}).items()
            if set(members) <= set(chosen["judges"])
        }
        mitigations, probes = chosen.pop("mitigations"), chosen["probes"]
        again = [f"{probe}+{name}" for name in mitigations for probe in probes]
        chosen["reading"] = chosen["reading"] or JudgeRun.Reading.LENIENT.value
        chosen |= {
            "probes": list(dict.fromkeys([*probes, *again])) or [""],
            "orders": [chosen["orders"]],
            "budget": None if chosen["budget"] is None else str(chosen["budget"]),
            "wordings": [
                "" if name == OWN_WORDS else name for name in chosen["wordings"] or [OWN_WORDS]
            ],
            "framings": chosen["framings"] or [framings.OBSERVER],
            "juries": juries,
        }
        return CampaignPlan(**self._like | chosen)
