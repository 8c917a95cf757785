"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="privacy",
    title="Consent and requests of participants",
    summary=(
        "You find a person, show what is stored, and correct, withdraw or delete it, with a "
        "certificate; the consent changes while people take part."
    ),
    group="installation",
    former=("amended_consents",),
    addresses={"": "urls"},
    sections={"privacy:": "annotators", "consents:": "annotators"},
    holdings=(Placed("reports_and_exports:HELD", at="person"),),
    parts=(Placed("views:PERSON", at="person_pages"),),
    navigation=("consent_views:versions_page", "views:search_page"),
)
