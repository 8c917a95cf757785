"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="replication",
    title="The paper repeated",
    summary=(
        "Computes the numbers of the paper again from its released files, or asks its questions"
        " again."
    ),
    group="files",
    addresses={"studies/<slug:slug>/judges/wordings/recover/": "urls"},
    importers=(
        Placed("views:SOURCE", at="wordings"),
        Placed("released.result_rows:ITEMS", at="items", after="csv"),
        Placed("released.result_rows:JUDGMENTS", at="judgments"),
    ),
)
