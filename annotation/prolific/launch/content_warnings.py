"""The content warnings of a study's items, which Prolific shows before anyone takes a place."""

from typing import Any

from studies.models import Item, Study

# A flag about the form of an item, not about its content.
_NO_CONTENT = {"identical_responses"}
# Prolific has two kinds, and a study names one of them; these words require the stronger one.
_EXPLICIT = ("explicit", "sexual", "nudity", "porn", "gore", "graphic")
_LONGEST = 500


def content_warnings(study: Study) -> dict[str, Any]:
    """The fields of a draft with warnings about the content of its items; none without flags."""
    flagged = Item.everything.filter(study=study).exclude(warnings=[])
    flags = {flag for found in flagged.values_list("warnings", flat=True) for flag in found}
    touched = sorted(flags - _NO_CONTENT)
    if not touched:
        return {}
    is_explicit = any(word in flag.casefold() for flag in touched for word in _EXPLICIT)
    details = f"Some of the items touch on: {', '.join(touched)}."
    return {
        "content_warnings": ["explicit" if is_explicit else "sensitive"],
        "content_warning_details": details[:_LONGEST],
    }
