"""The form of a launch plan: Prolific's filters are chosen by name from its current list."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django import forms

from annotation.models import DemographicQuestion
from annotation.prolific.api.types import (
    BAND,
    COUNTRY,
    LANGUAGE,
    POLITICS,
    SEX,
    Filter,
    FilterSet,
    find_filter,
)
from annotation.prolific.launch.launch_plan import DEVICES, LaunchPlan, is_known, label_for
from studies.money import format_money, major_units, minor_units

_WIDE = forms.TextInput(attrs={"size": 48})
_LINES = forms.Textarea(attrs={"rows": 3})


def _labels(chosen: str | list[str], separator: str = ",") -> list[str]:
    """The labels of a field, typed with a separator or chosen."""
    labels = chosen.split(separator) if isinstance(chosen, str) else chosen
    return [label.strip() for label in labels if label.strip()]


def _named(live_filter: Filter, stored: Sequence[str]) -> list[tuple[str, str]]:
    """The labels of a filter as choices, stored ones first, also those that it no longer has."""
    labels = sorted(live_filter.choices.values(), key=lambda label: label not in stored)
    gone = [label for label in stored if label and label not in labels]
    return [
        *((label, label) for label in labels),
        *((label, f"{label} (not in Prolific’s list)") for label in gone),
    ]


def _flat(data: Any) -> dict[str, Any]:
    """The sent values by name, as lists only if a field takes several."""
    several = ("sexes", "politics", "devices", "country", "language")
    return {name: data.getlist(name) if name in several else data[name] for name in data}


def _whole(label: str, hint: str, *, least: int, most: int | None = None) -> forms.IntegerField:
    return forms.IntegerField(
        required=False, min_value=least, max_value=most, label=label, help_text=hint
    )


def _text(
    label: str, hint: str, *, longest: int, widget: forms.Widget | None = None
) -> forms.CharField:
    return forms.CharField(
        required=False, max_length=longest, label=label, widget=widget, help_text=hint
    )


def _tick(label: str, hint: str) -> forms.BooleanField:
    return forms.BooleanField(required=False, label=label, help_text=hint)


# Below the others, behind one line until one of them is used.
_RARE = (
    "filter_set",
    "at_once",
    "naivety",
    "approve_at_once",
    "signed_links",
    "screen_out_pay",
    "screen_out_slots",
    "workspace",
    "project",
)


class LaunchPlanForm(forms.Form):
    """The launch plan. Empty fields request nothing."""

    places = _whole(
        "Places",
        "Leave empty to recruit as many participants as the items need.",
        least=1,
        most=10_000,
    )
    country = _text(
        "Countries of residence",
        "As Prolific names them, one a line, for example United States. Leave empty for any.",
        longest=2000,
        widget=_LINES,
    )
    language = _text(
        "Fluent languages",
        "As Prolific names them, one a line, for example English. One of them is enough.",
        longest=2000,
        widget=_LINES,
    )
    filter_set = _text(
        "Filter set",
        "Id of a filter set of the workspace, instead of every filter on this page.",
        longest=64,
    )
    approval_rate = _whole(
        "Minimum approval rate",
        "Percentage of the participant’s earlier submissions that were approved.",
        least=0,
        most=100,
    )
    earlier_submissions = _whole(
        "Minimum earlier submissions",
        "Submissions that a participant must have made.",
        least=0,
        most=10_000,
    )
    age_low = _whole("Minimum age", "In years.", least=18, most=120)
    age_high = _whole("Maximum age", "In years.", least=18, most=120)
    sexes = _text(
        "Balance by sex",
        "Prolific’s labels, separated by commas, for example Male, Female.",
        longest=200,
        widget=_WIDE,
    )
    politics = _text(
        "Balance by U.S. political affiliation",
        "Prolific’s labels, separated by commas, for example Democrat, Republican.",
        longest=200,
        widget=_WIDE,
    )
    apart = _tick(
        "One study for each group",
        "Instead of one balanced study. Each participant can join only one of them.",
    )
    devices = forms.MultipleChoiceField(
        required=True,
        choices=[(name, name.capitalize()) for name in DEVICES],
        widget=forms.CheckboxSelectMultiple,
        label="Devices",
        help_text="Devices that participants may use.",
        error_messages={"required": "Choose at least one device."},
    )
    at_once = _whole(
        "Participants at the same time",
        "Prolific gives the next place when somebody has finished. Leave empty for no limit.",
        least=1,
        most=10_000,
    )
    naivety = forms.FloatField(
        required=False,
        min_value=0,
        max_value=1,
        label="Preference for participants with few studies",
        help_text="From 0 (everybody at once, fastest) to 1. Leave empty to let Prolific decide.",
    )
    approve_at_once = _tick(
        "Approve automatically",
        "Prolific pays everybody who finishes, at once. You cannot look at their answers first "
        "and cannot reject them.",
    )
    signed_links = _tick(
        "Signed links",
        "Prolific signs the ids of participants. Only if your workspace supports it.",
    )
    screen_out_pay = forms.DecimalField(
        required=False,
        min_value=0,
        max_value=10_000,
        label="Pay for people who are turned away",
        help_text="For example 0.20, for people who took part in a related study. Only if your "
        "workspace has fixed screen-out payments; otherwise settling proposes a bonus.",
    )
    screen_out_slots = _whole(
        "At most this many people are turned away",
        "Prolific pauses the study after paying this many.",
        least=1,
    )
    workspace = _text(
        "Workspace",
        "Workspace id, required if your account has several. Its balance pays.",
        longest=64,
    )
    project = _text(
        "Project",
        "Project id. If empty, we use the project “Thirdperson”, else the first project.",
        longest=64,
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None,
        *,
        stored: LaunchPlan,
        currency: str,
        questions: Sequence[DemographicQuestion] = (),
        live: Sequence[Filter] = (),
        sets: Sequence[FilterSet] = (),
    ) -> None:
        """Offer the choices of the `live` filters and `sets`; without them, users type names."""
        super().__init__(data, initial=self.initial_of(stored, currency))
        self._stored = stored
        self._currency = currency
        self._live = live
        self._unnamed: set[str] = set()
        # Sex and political affiliation have their own fields.
        self._questions = [question for question in questions if not is_known(question.key)]
        if live:
            self._offer_choices(sets)
        for question in self._questions:
            self._add_filter(question)

    def usual(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in _RARE]

    def rare(self) -> list[forms.BoundField]:
        return [field for field in self if field.name in _RARE]

    def has_rare(self) -> bool:
        return any(field.errors or field.value() for field in self.rare())

    def _offer_choices(self, sets: Sequence[FilterSet]) -> None:
        """Replace text fields by choices of the live filters and filter sets."""
        balanced = (
            "Divides the places among the choices like the quota groups, or equally if there are "
            "none. Choose none for no balance."
        )
        offered = {
            "country": (COUNTRY, "\n", "Choose none for any country."),
            "language": (LANGUAGE, "\n", "One of them is enough. Choose none for any language."),
            "sexes": (SEX, ",", balanced),
            "politics": (POLITICS, ",", balanced),
        }
        for name, (filter_id, separator, help_text) in offered.items():
            if live_filter := find_filter(filter_id, self._live):
                chosen = _labels(self.initial[name], separator)
                self.initial[name] = chosen
                boxes = forms.MultipleChoiceField(
                    choices=_named(live_filter, chosen),
                    required=False,
                    widget=forms.CheckboxSelectMultiple(attrs={"class": "choices"}),
                    help_text=help_text,
                )
                self._replace(name, boxes)
        kept = {one.id: f"{one.name} (version {one.version})" for one in sets}
        if chosen_set := self.initial["filter_set"]:
            kept.setdefault(chosen_set, f"{chosen_set} (not in the workspace)")
        if kept:
            choices = [("", "None"), *kept.items()]
            field = forms.ChoiceField(
                choices=choices,
                required=False,
                help_text="A set that the workspace keeps, instead of every filter of the plan.",
            )
            self._replace("filter_set", field)
        else:
            del self.fields["filter_set"]

    def _replace(self, name: str, field: forms.Field) -> None:
        field.label = self.fields[name].label
        self.fields[name] = field

    def _add_filter(self, question: DemographicQuestion) -> None:
        """Add a field for the filter that matches a question, and one for each option's label."""
        match = self._stored.matches.get(question.key, {"filter": "", "labels": {}})
        name = f"filter-{question.key}"
        if self._live:
            options = {
                one.id: one.title
                for one in self._live
                if one.is_choice or one.data_type == "integer"
            }
            if match["filter"]:
                options.setdefault(match["filter"], f"{match['filter']} (not in Prolific’s list)")
            by_title = sorted(options.items(), key=lambda option: option[1].casefold())
            self.fields[name] = forms.ChoiceField(
                required=False,
                choices=[("", "Do not balance on Prolific"), *by_title],
                initial=match["filter"],
                label=f"Prolific’s filter for “{question.label}”",
            )
            self._add_choices(question, match)
            return
        self.fields[name] = forms.CharField(
            required=False,
            max_length=80,
            initial=match["filter"],
            label=f"Prolific’s filter for “{question.label}”",
            help_text="The id of the filter, for example highest-education-level-completed. Leave "
            "empty if Prolific should not balance this question.",
        )
        for number, option in enumerate(question.options):
            self.fields[f"label-{question.key}-{number}"] = forms.CharField(
                required=False,
                max_length=200,
                initial=match["labels"].get(option["value"], option["label"]),
                label=f"Prolific’s label for “{option['label']}”",
                help_text="Leave empty if the filter has no such choice.",
            )

    def _add_choices(self, question: DemographicQuestion, match: Mapping[str, Any]) -> None:
        """Offer choices of the chosen filter for each option, with equal names preselected."""
        sent = self.data if self.is_bound else {}
        chosen = sent.get(f"filter-{question.key}", "") if self.is_bound else match["filter"]
        live_filter = next((one for one in self._live if one.id == chosen), None)
        if live_filter is None:
            return
        names = [f"label-{question.key}-{number}" for number in range(len(question.options))]
        labels = list(live_filter.choices.values())
        # Not asked for this filter yet: the fields were not on the page, or belonged to another
        # filter.
        is_new = self.is_bound and not all(
            (live_filter.is_range and name in sent) or sent.get(name) in ("", *labels)
            for name in names
        )
        guesses = {}
        for name, option in zip(names, question.options, strict=True):
            if live_filter.is_range:
                part = BAND.search(option["label"]) or BAND.search(option["value"])
                guess = part[0] if part else ""
            else:
                guess = (
                    label_for(option["label"], labels) or label_for(option["value"], labels) or ""
                )
            guesses[name] = guess
            stored = (
                match["labels"].get(option["value"], "") if chosen == match["filter"] else guess
            )
            label = f"“{option['label']}” is on Prolific"
            if live_filter.is_range:
                self.fields[name] = forms.CharField(
                    required=False,
                    max_length=20,
                    initial=stored,
                    label=label,
                    help_text=(
                        f"A part of {live_filter.low} to {live_filter.high}, such as 18-39 or 75+."
                    ),
                )
                continue
            self.fields[name] = forms.ChoiceField(
                required=False,
                choices=[("", "No such choice"), *_named(live_filter, [])],
                initial=stored,
                label=label,
            )
        if is_new:
            # A copy with the guesses, because sent `data` cannot be changed.
            self.data = {**_flat(self.data), **guesses}
            if not all(guesses.values()):
                self._unnamed.add(question.key)

    @staticmethod
    def initial_of(plan: LaunchPlan, currency: str) -> dict[str, Any]:
        stored = plan.stored()
        if plan.screen_out_pay:
            stored["screen_out_pay"] = major_units(plan.screen_out_pay, currency)
        stored["sexes"] = ", ".join(plan.balance.get(SEX, []))
        stored["politics"] = ", ".join(plan.balance.get(POLITICS, []))
        return stored

    def clean_screen_out_pay(self) -> int | None:
        """The pay in minor units, as a plan stores it."""
        amount: Decimal | None = self.cleaned_data["screen_out_pay"]
        if amount is None:
            return None
        stored = minor_units(amount, self._currency)
        if not stored:
            least = format_money(1, self._currency)
            raise forms.ValidationError(f"Enter at least {least}, or leave the field empty.")
        return stored

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        low, high = values.get("age_low"), values.get("age_high")
        if low is not None and high is not None and low > high:
            self.add_error("age_high", "The maximum age is below the minimum age.")
        for question in self._questions:
            field = f"filter-{question.key}"
            labels = self._labels_of(question, values)
            if question.key in self._unnamed:
                self.add_error(field, "Choose Prolific’s name for each option, then save again.")
            elif values.get(field) and len(set(labels.values())) < 2:
                self.add_error(
                    field,
                    "Give Prolific’s labels of at least two options, or leave the filter empty.",
                )
        return values

    @staticmethod
    def _labels_of(question: DemographicQuestion, values: Mapping[str, Any]) -> dict[str, str]:
        """Prolific's label for each value of a question that has one."""
        labels = {
            option["value"]: values.get(f"label-{question.key}-{number}", "")
            for number, option in enumerate(question.options)
        }
        return {value: label for value, label in labels.items() if label}

    def plan(self) -> LaunchPlan:
        values = dict(self.cleaned_data)
        for name in ("country", "language"):
            values[name] = "\n".join(_labels(values[name], "\n"))
        values["filters"] = self._stored.filters
        balance = {SEX: _labels(values.pop("sexes")), POLITICS: _labels(values.pop("politics"))}
        matches = {
            question.key: {"filter": chosen, "labels": self._labels_of(question, values)}
            for question in self._questions
            if (chosen := values[f"filter-{question.key}"])
        }
        # Filters balanced by the command stay, unless they match a question here.
        before = {match["filter"] for match in self._stored.matches.values()}
        kept = {f: shares for f, shares in self._stored.balance.items() if f not in before}
        for match in matches.values():
            balance[match["filter"]] = list(dict.fromkeys(match["labels"].values()))
        everything = {name: labels for name, labels in (kept | balance).items() if labels}
        return LaunchPlan.of(values | {"balance": everything, "matches": matches})
