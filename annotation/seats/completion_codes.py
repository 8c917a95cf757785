"""Completion codes: random, created once for each ending of a study, and then fixed."""

from annotation.models import CompletionCode, Ending


def ensure_codes(study_id: int) -> None:
    """Create the codes that the study does not have yet."""
    known = set(CompletionCode.objects.filter(study_id=study_id).values_list("ending", flat=True))
    # Two simultaneous arrivals may both find no code: the unique constraint keeps the first row of
    # each ending.
    CompletionCode.objects.bulk_create(
        [
            CompletionCode(study_id=study_id, ending=ending)
            for ending in Ending
            if ending not in known
        ],
        ignore_conflicts=True,
    )


def codes_of(study_id: int) -> dict[Ending, str]:
    """Every ending of a study with its code, in the order of `Ending`; creates missing codes."""
    ensure_codes(study_id)
    rows = CompletionCode.objects.filter(study_id=study_id).values_list("ending", "code")
    codes = dict(rows)
    return {ending: codes[ending] for ending in Ending}


def code_for(*, study_id: int, ending: str) -> str:
    """The code of an ending; the first call for a study creates all of its codes."""
    codes = CompletionCode.objects.filter(study_id=study_id, ending=ending)
    if not codes.exists():
        ensure_codes(study_id)
    return codes.get().code
