"""Protection of annotators in exports: keyed names, coarse times, cells of at least k."""

import hashlib
import hmac
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from studies.models.studies import Study

K = 5


def exported_id(export_key: str, pseudonym: str) -> str:
    """The name of an annotator in exports; without the key it cannot be traced back."""
    digest = hmac.new(export_key.encode(), pseudonym.encode(), hashlib.sha256).hexdigest()
    return f"R-{digest[:16]}"


def exported_id_sql(export_key: str, pseudonym: str) -> tuple[str, dict[str, bytes]]:
    """The expression by which PostgreSQL makes an `exported_id`, and its parameters.

    It has hashes, but no HMAC, which is a hash within a hash (RFC 2104).
    """
    key = export_key.encode()
    block = (hashlib.sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
    pads = {name: bytes(byte ^ pad for byte in block) for name, pad in _PADS.items()}
    inner = f"sha256(%(inner_key)s || convert_to({pseudonym}, 'UTF8'))"
    return f"'R-' || left(encode(sha256(%(outer_key)s || {inner}), 'hex'), 16)", pads


_BLOCK = 64
_PADS = {"inner_key": 0x36, "outer_key": 0x5C}


def renew_export_key(*, study_id: int) -> None:
    """Replace the key, so that names no longer match those of earlier exports."""
    Study.objects.filter(pk=study_id).update(export_key=secrets.token_hex(32))


def to_the_minute(moment: datetime | None) -> str | None:
    """A time without seconds, too coarse to identify an annotator."""
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%MZ")


def in_cells_of_k(
    people: Mapping[str, Mapping[str, str]], keys: Sequence[str], *, k: int = K
) -> dict[str, dict[str, str]]:
    """Demographics of each annotator, cut to combinations that at least `k` annotators share.

    An annotator keeps as many of the first `keys` as leave the combination common enough.
    Cutting one can make another rare, so this repeats until at least `k` share each combination.

    >>> people = {str(n): {"sex": "f", "age": "20" if n else "90"} for n in range(6)}
    >>> published = in_cells_of_k(people, ["sex", "age"], k=5)
    >>> published["1"], published["0"]
    ({'sex': 'f', 'age': '20'}, {})
    """
    published = {
        name: tuple((key, given[key]) for key in keys if key in given)
        for name, given in people.items()
    }
    while True:
        counts = Counter(published.values())
        rare = [name for name, cell in published.items() if cell and counts[cell] < k]
        if not rare:
            return {name: dict(cell) for name, cell in published.items()}
        longest = max(len(published[name]) for name in rare)
        for name in rare:
            if len(published[name]) == longest:
                published[name] = published[name][:-1]
