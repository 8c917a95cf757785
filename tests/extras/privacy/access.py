"""Who may open the pages for a person's request: owners, who name somebody in the study.

Everybody in the study may read the versions of the consent.
"""

FOR_VIEWERS = {"people/consent/"}
FOR_OWNERS = NOT_HERE = {
    "people/find/person/",
    "people/find/done/<reference>/",
    "people/find/person/file/",
}
NEEDS_DATA = "privacy:|consents:"
