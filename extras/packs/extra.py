"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="packs",
    title="Packs and batches",
    summary=(
        "The questions of a run are files that are answered elsewhere, or a provider’s batch "
        "at half price."
    ),
    group="judges",
    addresses={"studies/<slug:slug>/judges/<str:run_id>/": "urls"},
    holdings=(
        Placed("jobs:content_of", at="study"),
        Placed("jobs:needed", at="needed"),
        Placed("jobs:delete_packs", at="removals"),
    ),
    files=(Placed("jobs:FILES", at="kinds"),),
    runs=(Placed("delivery:PACKS", at="deliveries"),),
)
