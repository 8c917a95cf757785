"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="wordings",
    title="Wordings as a factor",
    summary=(
        "Judges can commit to what a person wants before they see the responses, or see a "
        "reference answer, and the report says whether the words of the question change what "
        "judges answer."
    ),
    group="analyses",
    analyses={"wording": "Effect of wording, framing and order"},
    protocols=(
        Placed("protocols:COMMITTED", after="reason-after"),
        Placed("protocols:REFERENCE", after="committed"),
    ),
    chapters=(Placed("wording:WORDINGS", after="position"),),
    readers=("references:REFERENCES",),
)
