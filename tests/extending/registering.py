"""Following the first two steps of a page: the module in its package, the line in the registry."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from studies.extra import manifests
from tests.extending.page import modules


def register(
    page: str,
    *,
    module: str,
    registry: ModuleType,
    name: str,
    folder: Path,
    patch: pytest.MonkeyPatch,
) -> list[Any]:
    """Add `module` of a page to the registry's package; the new contents of its list `name`."""
    code = modules(page)
    package = sys.modules[registry.__name__.rpartition(".")[0]]
    (folder / Path(module).name).write_text(code[module], encoding="utf-8")
    patch.setattr(package, "__path__", [*package.__path__, str(folder)])
    path = f"{registry.__name__.replace('.', '/')}.py"
    names = dict(vars(registry))
    exec(compile(code[path], path, "exec"), names)
    patch.setattr(registry, name, names[name])
    # Lists of entries are read again.
    manifests.cache_clear()
    return list(names[name])
