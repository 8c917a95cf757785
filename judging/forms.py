"""What a researcher fills in: the filter of a run's page, and the plan of a campaign."""

from decimal import Decimal
from typing import Any

from django import forms

from judging.models import Campaign, Judge, JudgeRun, Judgment
from judging.services.campaigns import SWEEPS, Plan
from judging.services.judges import IMPORTED
from studies.features import NAMED_SETS, known_keys
from studies.models import Study

STATES = [
    ("", "all"),
    ("open", "not yet answered"),
    *[(s.value, s.label) for s in Judgment.State if s not in Judgment.OPEN],
]


class JudgmentFilter(forms.Form):
    """The filter above a run's judgments; nothing in it is required."""

    state = forms.ChoiceField(choices=STATES, required=False, label="State")
    search = forms.CharField(required=False, max_length=120, label="Item id contains")


_FEATURE_WORDS = {
    "all": "Everything that is known about the person",
    "none": "Nothing: the question without the person",
    "leave-one-out": "Everything but one feature, for each feature",
    "one-only": "One feature alone, for each feature",
}
_ORDER_WORDS = {
    "both": "Both orders: each question twice, so that a judge that prefers a side is found out",
    "random": "One order, drawn and balanced: half as many questions",
    "r1_first": "Response 1 first",
    "r2_first": "Response 2 first",
}
_SETTING_WORDS = {
    "standard": "Standard: which response",
    "certainty": "Certainty: which response, and how certain from 1 to 100",
    "tie": "Tie: a tie may be answered",
}


class CampaignForm(forms.Form):
    """Which judges to ask what about a study; `plan` gives it as a campaign reads it.

    It begins with the plan of the campaign `like`, and keeps what has no field here.
    """

    name = forms.CharField(max_length=120, label="Name", help_text="Stands on its page.")
    judges = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple, label="Judges")
    settings = forms.MultipleChoiceField(
        choices=[(value, _SETTING_WORDS[value]) for value in JudgeRun.Setting.values],
        widget=forms.CheckboxSelectMultiple,
        label="What is asked",
        initial=["standard"],
    )
    features = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, label="What the judge knows", initial=["all"]
    )
    orders = forms.ChoiceField(
        choices=list(_ORDER_WORDS.items()),
        widget=forms.RadioSelect,
        label="Order of the responses",
        initial=JudgeRun.Orders.BOTH,
    )
    samples = forms.IntegerField(
        min_value=1, max_value=100, initial=1, label="Samples",
        help_text="How often each question is asked, each time with another seed.",
    )  # fmt: skip
    limit = forms.IntegerField(
        min_value=1, required=False, label="Items", help_text="The first of them; empty: all."
    )
    budget = forms.DecimalField(
        min_value=Decimal("0.01"), decimal_places=2, required=False, label="Budget, US dollars",
        help_text="Of all runs together, checked before each request; empty: none.",
    )  # fmt: skip
    token_budget = forms.IntegerField(
        min_value=1, required=False, label="Budget, tokens",
        help_text="For judges without a price; empty: none.",
    )  # fmt: skip
    batch = forms.BooleanField(
        required=False, label="By batch: cheaper, answered within a day instead of at once"
    )

    def __init__(
        self, study: Study, data: Any = None, *, name: str, like: Campaign | None = None
    ) -> None:
        self._like: dict[str, Any] = like.plan if like else {}
        orders = self._like.get("orders", [JudgeRun.Orders.BOTH])
        initial = {"name": name} | self._like | {"orders": orders[0]}
        if initial.get("limit") == 1:  # what was tried on one item is then wanted for all
            initial["limit"] = None
        super().__init__(data, initial=initial)
        askable = Judge.objects.exclude(model=IMPORTED)
        self._choices("judges", [(judge.name, _words_of(judge)) for judge in askable])
        keys = known_keys(study)
        own = list(study.feature_sets.values_list("name", flat=True))
        named = [name for name, members in NAMED_SETS.items() if keys.intersection(members)]
        sweeps = SWEEPS if len(keys) >= 2 else ()
        words = [(name, _FEATURE_WORDS[name]) for name in ("all", "none", *sweeps)]
        words += [(name, f"The set “{name}”") for name in own + named]
        offered = {name for name, _ in words}
        others = [name for name in self._like.get("features", ()) if name not in offered]
        self._choices("features", words + [(name, f"Only {name}") for name in others])

    def _choices(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.MultipleChoiceField)  # noqa: S101
        field.choices = choices

    def plan(self) -> Plan:
        chosen = dict(self.cleaned_data)
        juries = {
            name: members
            for name, members in self._like.get("juries", {}).items()
            if set(members) <= set(chosen["judges"])
        }
        chosen |= {
            "orders": [chosen["orders"]],
            "budget": None if chosen["budget"] is None else str(chosen["budget"]),
            "juries": juries,
        }
        return Plan(**self._like | chosen)


def _words_of(judge: Judge) -> str:
    if judge.price_input is None or judge.price_output is None:
        return f"{judge.name}: {judge.model}, no price"
    prices = f"${judge.price_input.normalize():f} in, ${judge.price_output.normalize():f} out"
    return f"{judge.name}: {judge.model}, {prices} per million tokens"
