"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

EXTRA = Extra(
    name="choices",
    title="Wordings as a factor",
    summary="The report says whether the words of the question change what judges answer.",
    group="analyses",
    analyses={"wording": "Effect of wording, framing and order"},
    chapters=(
        Place("wording:WORDINGS", after="ablations"),
        Place("specifications:CHOICES", after="methods"),
    ),
)
