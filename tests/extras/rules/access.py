"""What `tests.config.test_access` and `tests.test_pairs_at_once` have to know of the pages."""

from studies.models import Study

LEFT_OUT = {"needs a finished search, and a judge": "rules:again"}


def known(study: Study) -> dict[str, str]:
    """What the parameters of addresses are for things that the study has."""
    return {}
