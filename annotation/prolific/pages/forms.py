"""Forms of the recruiting pages: they check only the format; services decide."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from annotation.models import DemographicQuestion
from annotation.prolific.api.filters import POLITICS, SEX
from annotation.prolific.launch.launch_plan import DEVICES, LaunchPlan, is_known
from annotation.prolific.settle.decisions import GROUNDS, LEAST_MESSAGE

_WIDE = forms.TextInput(attrs={"size": 48})


def _labels(text: str) -> list[str]:
    return [label.strip() for label in text.split(",") if label.strip()]


class PlanForm(forms.Form):
    """The launch plan. Empty fields request nothing."""

    places = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=10_000,
        label="Places",
        help_text="Leave empty to recruit as many participants as the items need.",
    )
    country = forms.CharField(
        required=False,
        max_length=80,
        label="Country of residence",
        help_text="As Prolific names it, for example United States.",
    )
    language = forms.CharField(
        required=False,
        max_length=80,
        label="Fluent language",
        help_text="As Prolific names it, for example English.",
    )
    approval_rate = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=100,
        label="Minimum approval rate",
        help_text="Percentage of the participant’s earlier submissions that were approved.",
    )
    earlier_submissions = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=10_000,
        label="Minimum earlier submissions",
        help_text="Submissions that a participant must have made.",
    )
    age_low = forms.IntegerField(
        required=False, min_value=18, max_value=120, label="Minimum age", help_text="In years."
    )
    age_high = forms.IntegerField(
        required=False, min_value=18, max_value=120, label="Maximum age", help_text="In years."
    )
    sexes = forms.CharField(
        required=False,
        max_length=200,
        label="Balance by sex",
        widget=_WIDE,
        help_text="Prolific’s labels, separated by commas, for example Male, Female.",
    )
    politics = forms.CharField(
        required=False,
        max_length=200,
        label="Balance by U.S. political affiliation",
        widget=_WIDE,
        help_text="Prolific’s labels, separated by commas, for example Democrat, Republican.",
    )
    apart = forms.BooleanField(
        required=False,
        label="One study for each group",
        help_text="Instead of one balanced study. Each participant can join only one of them.",
    )
    devices = forms.MultipleChoiceField(
        required=True,
        choices=[(name, name.capitalize()) for name in DEVICES],
        widget=forms.CheckboxSelectMultiple,
        label="Devices",
        help_text="Devices that participants may use.",
        error_messages={"required": "Choose at least one device."},
    )
    signed_links = forms.BooleanField(
        required=False,
        label="Signed links",
        help_text="Prolific signs the ids of participants. Only if your workspace supports it.",
    )
    workspace = forms.CharField(
        required=False,
        max_length=64,
        label="Workspace",
        help_text="Workspace id, required if your account has several. Its balance pays.",
    )
    project = forms.CharField(
        required=False,
        max_length=64,
        label="Project",
        help_text="Project id. If empty, we use the project “Thirdperson”, else the first project.",
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None,
        *,
        stored: LaunchPlan,
        questions: Sequence[DemographicQuestion] = (),
    ) -> None:
        super().__init__(data, initial=self.initial_of(stored))
        self._stored = stored
        # Sex and political affiliation have fields of their own.
        self._questions = [question for question in questions if not is_known(question.key)]
        for question in self._questions:
            self._add_filter(question)

    def _add_filter(self, question: DemographicQuestion) -> None:
        """A field for the filter that matches a question, and one for its label of each option."""
        match = self._stored.matches.get(question.key, {"filter": "", "labels": {}})
        self.fields[f"filter-{question.key}"] = forms.CharField(
            required=False,
            max_length=80,
            initial=match["filter"],
            label=f"Prolific’s filter for “{question.label}”",
            help_text="The id of the filter, for example highest-education-level-completed. "
            "Leave empty not to balance this question on Prolific.",
        )
        for number, option in enumerate(question.options):
            self.fields[f"label-{question.key}-{number}"] = forms.CharField(
                required=False,
                max_length=200,
                initial=match["labels"].get(option["value"], option["label"]),
                label=f"Prolific’s label for “{option['label']}”",
                help_text="Leave empty if the filter has no such choice.",
            )

    @staticmethod
    def initial_of(plan: LaunchPlan) -> dict[str, Any]:
        stored = plan.stored()
        stored["sexes"] = ", ".join(plan.balance.get(SEX, []))
        stored["politics"] = ", ".join(plan.balance.get(POLITICS, []))
        return stored

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        low, high = values.get("age_low"), values.get("age_high")
        if low is not None and high is not None and low > high:
            self.add_error("age_high", "The maximum age is below the minimum age.")
        for question in self._questions:
            labels = self._labels_of(question, values)
            if values.get(f"filter-{question.key}") and len(set(labels.values())) < 2:
                self.add_error(
                    f"filter-{question.key}",
                    "Give Prolific’s labels of at least two options, or leave the filter empty.",
                )
        return values

    @staticmethod
    def _labels_of(question: DemographicQuestion, values: Mapping[str, Any]) -> dict[str, str]:
        """Prolific's label for each value of a question that has one."""
        found = {
            option["value"]: values.get(f"label-{question.key}-{number}", "")
            for number, option in enumerate(question.options)
        }
        return {value: label for value, label in found.items() if label}

    def plan(self) -> LaunchPlan:
        values = dict(self.cleaned_data)
        balance = {SEX: _labels(values.pop("sexes")), POLITICS: _labels(values.pop("politics"))}
        matches = {
            question.key: {"filter": chosen, "labels": self._labels_of(question, values)}
            for question in self._questions
            if (chosen := values[f"filter-{question.key}"])
        }
        # Filters that were balanced by the command stay, unless they matched a question here.
        before = {match["filter"] for match in self._stored.matches.values()}
        kept = {f: found for f, found in self._stored.balance.items() if f not in before}
        for match in matches.values():
            balance[match["filter"]] = list(dict.fromkeys(match["labels"].values()))
        everything = {name: labels for name, labels in (kept | balance).items() if labels}
        return LaunchPlan.of(values | {"balance": everything, "matches": matches})


class RejectForm(forms.Form):
    category = forms.ChoiceField(
        choices=list(GROUNDS.items()),
        widget=forms.RadioSelect,
        label="Reason",
        error_messages={"required": "Choose a reason."},
    )
    message = forms.CharField(
        widget=forms.Textarea,
        min_length=LEAST_MESSAGE,
        max_length=2000,
        label="Message to the participant",
        help_text=f"At least {LEAST_MESSAGE} characters. Say what you asked and what is missing.",
        error_messages={
            "required": "Write a message to the participant.",
            "min_length": f"Write at least {LEAST_MESSAGE} characters, not %(show_value)s.",
        },
    )
