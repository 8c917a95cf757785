"""Forms for the parameters of a report, all with defaults, and for a plan and a comparison."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, cast

from django import forms

from analysis.errors import BadParameters
from analysis.lifecycle.parameters import BOOTSTRAP_RANGE, SEED_RANGE
from analysis.lifecycle.plans import MARGIN_RANGE, parse_judge, registered
from analysis.lifecycle.share_links import DAYS_RANGE, DEFAULT_DAYS
from analysis.models import Report
from analysis.report.analyses import ANALYSES
from studies.models.studies import Study


class ReportForm(forms.Form):
    threshold = forms.IntegerField(
        label="High-certainty threshold",
        min_value=1,
        max_value=100,
        required=False,
        help_text="From 1 to 100. Values other than the study’s are marked as explored.",
    )
    bootstrap = forms.IntegerField(
        label="Resamples",
        min_value=BOOTSTRAP_RANGE[0],
        max_value=BOOTSTRAP_RANGE[1],
        required=False,
        help_text="For the bootstrap and permutation tests. The paper uses 1,000.",
    )
    seed = forms.IntegerField(
        label="Seed",
        min_value=SEED_RANGE[0],
        max_value=SEED_RANGE[1],
        required=False,
        help_text="The same answers and the same seed give the same report.",
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = registered(study)
        self.defaults = {
            "threshold": own.threshold,
            "bootstrap": own.bootstrap,
            "seed": own.seed,
        }
        self.initial = {**self.defaults, **self.initial}

    def chosen(self) -> dict[str, int]:
        """The chosen values, with the default for each empty field."""
        return {
            name: default if self.cleaned_data[name] is None else self.cleaned_data[name]
            for name, default in self.defaults.items()
        }


class PlanForm(forms.Form):
    """An analysis plan; the service checks whether its values fit together."""

    hypotheses = forms.CharField(
        label="Hypotheses",
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="In your own words. The report quotes them.",
    )
    analyses = forms.MultipleChoiceField(
        label="Analyses",
        choices=list(ANALYSES.items()),
        widget=forms.CheckboxSelectMultiple,
        help_text="The report marks all other analyses as explored.",
        error_messages={"required": "Choose at least one analysis."},
    )
    judges = forms.CharField(
        label="Judge runs",
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="One per line: NAME or NAME : SETTING : FEATURES : WORDING : FRAMING. SETTING is "
        "standard, certainty (default) or another setting. FEATURES is all (default), none or the "
        "name of a feature set. WORDING is a wording of the study, as name@version.",
    )
    threshold = forms.IntegerField(label="High-certainty threshold", min_value=1, max_value=100)
    margin = forms.FloatField(
        label="Equivalence margin",
        min_value=MARGIN_RANGE[0],
        max_value=MARGIN_RANGE[1],
        help_text="The largest difference in accuracy that counts as comparable. 0.05 is five "
        "percentage points.",
    )
    exclusions = forms.CharField(
        label="Rule for excluding annotators",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="State the rule before you know whom it excludes. Leave empty for none.",
    )
    bootstrap = forms.IntegerField(
        label="Resamples", min_value=BOOTSTRAP_RANGE[0], max_value=BOOTSTRAP_RANGE[1]
    )
    seed = forms.IntegerField(label="Seed", min_value=SEED_RANGE[0], max_value=SEED_RANGE[1])
    final = forms.BooleanField(
        label="I understand that the plan cannot change after I freeze it",
        error_messages={"required": "Confirm that the plan is final."},
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = registered(study)
        self.initial = {**asdict(own), **self.initial}

    def clean_judges(self) -> list[dict[str, str]]:
        try:
            lines = self.cleaned_data["judges"].splitlines()
            return [parse_judge(line) for line in lines if line.strip()]
        except BadParameters as error:
            raise forms.ValidationError(str(error)) from None

    def plan(self) -> dict[str, Any]:
        return {key: value for key, value in self.cleaned_data.items() if key != "final"}


class ShareForm(forms.Form):
    note = forms.CharField(
        label="Recipient",
        max_length=120,
        required=False,
        help_text="For your own list. The recipient does not see it.",
    )
    days = forms.IntegerField(
        label="Days until it expires",
        initial=DEFAULT_DAYS,
        min_value=DAYS_RANGE[0],
        max_value=DAYS_RANGE[1],
        help_text=f"{DAYS_RANGE[0]} to {DAYS_RANGE[1]}. You can revoke the link earlier.",
    )


class CompareForm(forms.Form):
    """Two versions of a study's report, to choose from lists."""

    before = forms.ChoiceField(label="Before")
    after = forms.ChoiceField(label="After")

    def __init__(self, *args: Any, reports: Iterable[Report], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.reports = {report.public_id: report for report in reports}
        choices = [
            (key, f"v{report.number} of {report.created_at:%d %b %Y, %H:%M} UTC")
            for key, report in self.reports.items()
        ]
        for name in ("before", "after"):
            cast(forms.ChoiceField, self.fields[name]).choices = choices

    def chosen(self) -> tuple[Report, Report]:
        data = self.cleaned_data
        return self.reports[data["before"]], self.reports[data["after"]]
