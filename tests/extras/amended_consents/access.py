"""Who may open the page of the versions of the consent."""

FOR_VIEWERS = {"people/consent/"}
NEEDS_DATA = "amended_consents:"
