"""What `tests.config.test_access` and `tests.test_pairs_at_once` have to know of the pages."""

from studies.models import Study

FOR_VIEWERS = {"disagreements/why/", "disagreements/why/?progress"}
NOT_HERE = {"disagreements/why/ again"}  # no search yet
LEFT_OUT = {"needs a second press, and a finished search": "rules:(why|again)"}


def known(study: Study) -> dict[str, str]:
    """What the parameters of addresses are for things that the study has."""
    return {}
