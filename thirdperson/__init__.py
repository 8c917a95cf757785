"""Thirdperson for other programs.

    from thirdperson import stats

Nothing is imported before it is used.
"""

from pkgutil import resolve_name
from typing import Any

# The names of this package and their objects: "module" or "module:name".
PUBLIC = {"Client": "thirdperson.client:Client", "stats": "thirdperson.stats"}


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(PUBLIC[name])


def __dir__() -> list[str]:
    return sorted({*globals(), *PUBLIC})
