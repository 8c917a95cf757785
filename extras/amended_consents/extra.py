"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra

EXTRA = Extra(
    name="amended_consents",
    title="Amended consents",
    summary=(
        "The consent changes while people take part, and those who agreed to an earlier "
        "version can be asked again."
    ),
    group="people",
    addresses={"studies/<slug:slug>/people/consent/": "urls"},
    sections={"amended_consents:": "annotators"},
    navigation=("views:versions_page",),
)
