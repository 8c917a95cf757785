"""What keeps an export from naming people: keyed pseudonyms, coarse times, cells of at least k."""

import hashlib
import hmac
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from studies.models.studies import Study

K = 5


def exported_id(export_key: str, pseudonym: str) -> str:
    """The name of a person in exports; without the study's key it leads back to nobody."""
    digest = hmac.new(export_key.encode(), pseudonym.encode(), hashlib.sha256).hexdigest()
    return f"R-{digest[:16]}"


def renew_export_key(*, study_id: int) -> None:
    """Give everybody a new name: names of earlier exports no longer match."""
    Study.objects.filter(pk=study_id).update(export_key=secrets.token_hex(32))


def to_the_minute(moment: datetime | None) -> str | None:
    """A time that is too coarse to find a person by; seconds are cut off."""
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%MZ")


def in_cells_of_k(
    people: Mapping[str, Mapping[str, str]], keys: Sequence[str], *, k: int = K
) -> dict[str, dict[str, str]]:
    """What of each person's demographics may be told: combinations that at least `k` share.

    A person keeps the first of `keys` as far as the combination is common enough. Shortening
    one person can leave another alone, so this goes on until every combination that is told is
    told of at least `k`.

    >>> people = {str(n): {"sex": "f", "age": "20" if n else "90"} for n in range(6)}
    >>> told = in_cells_of_k(people, ["sex", "age"], k=5)
    >>> told["1"], told["0"]
    ({'sex': 'f', 'age': '20'}, {})
    """
    told = {
        name: tuple((key, given[key]) for key in keys if key in given)
        for name, given in people.items()
    }
    while True:
        counts = Counter(told.values())
        rare = [name for name, cell in told.items() if cell and counts[cell] < k]
        if not rare:
            return {name: dict(cell) for name, cell in told.items()}
        longest = max(len(told[name]) for name in rare)
        for name in rare:
            if len(told[name]) == longest:
                told[name] = told[name][:-1]
