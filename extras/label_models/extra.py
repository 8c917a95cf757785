"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="label_models",
    title="Models of annotators",
    summary="One answer of many by Dawid and Skene, one coin, MACE and GLAD.",
    group="analyses",
    chapters=(Placed("rules:RULES", at="agreement", after="alpha_check"),),
)
