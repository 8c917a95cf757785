"""The forms of a certificate and of the study for people that takes the rest."""

from typing import Any

from django import forms

from extras.certificates.models import BY
from judging.selectors import labels_of
from studies.models.studies import Study

_SIGNALS = (
    ("stated", "Stated certainty"),
    ("probabilities", "Probability of its answer"),
    ("agreement", "Agreement of its readings, or of the judges of a jury"),
    ("orders", "Agreement in the less favourable order"),
    ("entropy", "Preference entropy over both orders"),
    ("stated*agreement", "Stated certainty × agreement"),
    ("stated*probabilities", "Stated certainty × probability"),
)
_TARGETS = (
    ("first_person", "The personas’ own answers"),
    ("majority", "The majority of annotators"),
)


class CertificateForm(forms.Form):
    judge = forms.ChoiceField(label="Judge", help_text="A run of a judge, or a jury.")
    signal = forms.ChoiceField(
        label="Signal",
        choices=_SIGNALS,
        help_text="A number for each answer. The certificate says from which value on to accept.",
    )
    target = forms.ChoiceField(
        label="Right answer", choices=_TARGETS, help_text="What the judge should agree with."
    )
    by = forms.ChoiceField(
        label="Share of wrong answers",
        choices=BY,
        initial="item",
        required=False,
        help_text="By item for labels of all items. By persona if each person matters as much, "
        "however many items they have.",
    )
    error = forms.FloatField(
        label="Error",
        initial=10,
        min_value=0.1,
        max_value=90,
        help_text="Percent of the accepted answers that may be wrong.",
    )
    confidence = forms.FloatField(
        label="Confidence",
        initial=90,
        min_value=50,
        max_value=99.9,
        help_text="Percent.",
    )
    among = forms.IntegerField(
        label="Chosen among",
        initial=1,
        min_value=1,
        max_value=1000,
        help_text="Number of judges, signals or errors that you try and choose from.",
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.choices = juries_and_runs(study)
        self.fields["judge"].choices = [  # type: ignore[attr-defined]
            (value, label) for value, label, *_ in self.choices
        ]

    def wish(self) -> dict[str, Any]:
        """What is to be certified."""
        chosen = self.cleaned_data
        judge, run = next(
            (judge, run) for value, _, judge, run in self.choices if value == chosen["judge"]
        )
        return {
            "judge": judge,
            "run": run,
            "signal": chosen["signal"],
            "target": chosen["target"],
            "error": round(chosen["error"] / 100, 6),
            "confidence": round(chosen["confidence"] / 100, 6),
            "among": chosen["among"],
            "by": chosen["by"] or "item",
        }


class RouteForm(forms.Form):
    slug = forms.SlugField(
        label="Short name of the new study",
        max_length=60,
        help_text="Letters, digits, - and _. It is part of its address.",
    )
    answered_too = forms.BooleanField(
        label="Also items that have all their answers from people already", required=False
    )


def juries_and_runs(study: Study) -> list[tuple[str, str, str, str]]:
    """The judges of a study that can be certified: a value, a label, the name, and the run.

    A jury has no run of its own.
    """
    rows = study.judge_runs.filter(bias_probe="", probe_first=False)
    rows = rows.select_related("judge", "wording")
    runs = list(rows.order_by("judge__name", "setting", "features", "pk"))
    labels = labels_of(runs)
    found = [(run.public_id, labels[run.pk], run.judge.name, run.public_id) for run in runs]
    juries = study.juries.order_by("name").values_list("name", flat=True)
    return found + [(f"jury {name}", f"{name} (jury)", name, "") for name in juries]
