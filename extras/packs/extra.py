"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

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
        Place("jobs:content_of", at="study"),
        Place("jobs:delete_packs", at="removals"),
    ),
    files=(Place("jobs:FILES", at="kinds"),),
    runs=(
        Place("delivery:PACKS", at="deliveries"),
        Place("batches:BATCHES", at="deliveries"),
    ),
)
