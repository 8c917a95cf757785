"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

EXTRA = Extra(
    name="replication",
    title="The article repeated",
    summary=("The released files of the article are counted again, or its questions asked again."),
    group="files",
    addresses={"studies/<slug:slug>/judges/wordings/recover/": "urls"},
    importers=(
        Place("views:SOURCE", at="wordings"),
        Place("released.result_rows:ITEMS", at="items", after="csv"),
        Place("released.result_rows:JUDGMENTS", at="judgments"),
    ),
)
