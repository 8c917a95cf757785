"""Forms about runs: the filters of their lists, and the extension of one run."""

from decimal import Decimal
from typing import Any

from django import forms
from django.core.validators import MinValueValidator

from judging.models import JudgeRun, Judgment
from judging.pages.costed_forms import ORDER_WORDS, CostedForm
from judging.pages.listing import JUDGMENT_SORTS
from judging.runs.rows.spec import Reuse, RunSpec
from judging.selectors import campaigns_of
from studies.models import Item, Study

STATES = [
    ("", "all"),
    ("open", "not answered yet"),
    *[(s.value, s.label) for s in Judgment.State if s not in Judgment.OPEN],
]
_REUSE_CHOICES = {
    Reuse.IDENTICAL.value: "Reuse those to exactly the same request, with the same seed",
    Reuse.SAME_PROMPT.value: "Reuse also those to the same prompt with another seed",
    Reuse.FRESH.value: "Reuse none: send every question again",
}


class JudgmentFilter(forms.Form):
    """The filter above a run's judgments; all fields are optional."""

    state = forms.ChoiceField(choices=STATES, required=False, label="State")
    search = forms.CharField(required=False, max_length=120, label="Item id")
    sort = forms.ChoiceField(
        choices=[(name, label) for name, (label, _) in JUDGMENT_SORTS.items()],
        required=False,
        label="Sort by",
    )


class RunFilter(forms.Form):
    """The filter above the runs of a study; all fields are optional."""

    state = forms.ChoiceField(
        choices=[("", "all"), *JudgeRun.State.choices], required=False, label="State"
    )
    search = forms.CharField(required=False, max_length=120, label="Judge name")
    campaign = forms.ChoiceField(required=False, label="Campaign")

    def __init__(self, study: Study, data: Any) -> None:
        super().__init__(data)
        field = self.fields["campaign"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101
        field.choices = [("", "all"), *campaigns_of(study).values_list("public_id", "name")]


class ExtendForm(CostedForm):
    """What to add to a run: more items, samples, or the other order."""

    limit = forms.IntegerField(
        min_value=1,
        required=False,
        label="Items",
        help_text="Uses the first items only. Leave empty for all.",
    )
    samples = forms.IntegerField(max_value=100, label="Samples")
    orders = forms.ChoiceField(widget=forms.RadioSelect, label="Order of the responses")
    reuse = forms.ChoiceField(
        choices=list(_REUSE_CHOICES.items()),
        widget=forms.RadioSelect,
        required=False,
        initial=Reuse.IDENTICAL,
        label="Judgments that other runs have paid for",
    )
    budget = forms.DecimalField(
        min_value=Decimal("0.01"),
        decimal_places=2,
        required=False,
        label="Budget, US dollars",
        help_text="For the whole run, checked before each request. Leave empty to keep it.",
    )
    token_budget = forms.IntegerField(
        min_value=1, required=False, label="Budget, tokens", help_text="Leave empty to keep it."
    )

    def __init__(self, run: JudgeRun, data: Any = None) -> None:
        self._run = run
        items = Judgment.objects.filter(run=run).values("item").distinct().count()
        is_limited = items < Item.objects.filter(study=run.study_id).count()
        initial = {
            "limit": items if is_limited else None,
            "samples": run.samples,
            "orders": run.orders,
            "budget": run.budget,
            "token_budget": run.token_budget,
        }
        super().__init__(data, initial=initial)
        samples, orders = self.fields["samples"], self.fields["orders"]
        samples.validators.append(MinValueValidator(run.samples))
        samples.help_text = f"The run has {run.samples}. Enter the same number or more."
        assert isinstance(orders, forms.ChoiceField)  # noqa: S101
        both = JudgeRun.Orders.BOTH
        orders.choices = [(name, ORDER_WORDS[name]) for name in dict.fromkeys([run.orders, both])]

    def spec(self) -> RunSpec:
        chosen = dict(self.cleaned_data)
        chosen["reuse"] = Reuse(chosen["reuse"] or Reuse.IDENTICAL)
        return RunSpec.of(self._run, **chosen, extend=True)
