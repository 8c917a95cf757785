"""The statistics of `analysis/stats` under an importable name.

This module replaces itself with that package, whose modules use relative imports, so no other name
is added to the caller's process. Other names are looked up in the statistics of extras,
`extras/*/stats`, which makes `analysis` and `extras` importable.
"""

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

from thirdperson.program import APPS

_FOLDER = APPS / "analysis" / "stats"
_spec = spec_from_file_location(
    __name__, _FOLDER / "__init__.py", submodule_search_locations=[str(_FOLDER)]
)
if _spec is None or _spec.loader is None:
    raise ImportError(f"{_FOLDER} cannot be imported: install Thirdperson again.")
_package = module_from_spec(_spec)


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        if str(APPS) not in sys.path:
            sys.path.append(str(APPS))
        for path in sorted(APPS.glob("extras/*/stats/__init__.py")):
            module = import_module(".".join(path.parent.relative_to(APPS).parts))
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_package.__dict__["__getattr__"] = __getattr__
sys.modules[__name__] = _package
_spec.loader.exec_module(_package)
