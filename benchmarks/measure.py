"""How large the program is: lines, files, extras, kinds, commands, tables and addresses.

    python -m benchmarks.measure

Counts lines of Python without migrations and tests, in the files that git knows.
"""

import os
import subprocess
import sys
from pathlib import Path

import django
from django.apps import apps
from django.core.management import get_commands
from django.urls import URLPattern, URLResolver, get_resolver

import extras
from studies.extra import KINDS

ROOT = Path(__file__).resolve().parent.parent
CORE = ("analysis", "annotation", "api", "config", "judging", "studies", "thirdperson")


def size(*folders: str) -> tuple[int, int]:
    """Lines and files of Python in these folders, without migrations."""
    listed = subprocess.run(  # noqa: S603
        ["git", "ls-files", "--", *folders],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [ROOT / name for name in listed.stdout.split() if name.endswith(".py")]
    counted = [path for path in paths if "migrations" not in path.parts and path.exists()]
    return sum(len(path.read_text().splitlines()) for path in counted), len(counted)


def is_own(path: str) -> bool:
    """Whether an app is of the program: neither an installed package nor of its tests."""
    folder = Path(path)
    return folder.is_relative_to(ROOT) and folder.relative_to(ROOT).parts[0] in (*CORE, "extras")


def addresses(resolver: URLResolver) -> int:
    """Patterns of the program, without those of Django's administration."""
    number = 0
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            if pattern.namespace != "admin":
                number += addresses(pattern)
        elif isinstance(pattern, URLPattern):
            number += 1
    return number


def measure() -> dict[str, int]:
    """Each number by its name."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")
    django.setup()
    core_lines, core_files = size(*CORE)
    extra_lines, extra_files = size("extras")
    own = [app for app in apps.get_app_configs() if is_own(app.path)]
    packages = {app.name for app in own}
    return {
        "core, lines": core_lines,
        "core, files": core_files,
        "extras, lines": extra_lines,
        "extras, files": extra_files,
        "extras": len(extras.NAMES),
        "kinds": len(KINDS),
        "own commands": sum(app in packages for app in get_commands().values()),
        "own tables": len(
            {
                model._meta.db_table
                for app in own
                for model in app.get_models(include_auto_created=True)
                if model._meta.managed and not model._meta.proxy
            }
        ),
        "own addresses": addresses(get_resolver()),
    }


if __name__ == "__main__":
    for name, number in measure().items():
        sys.stdout.write(f"{name:15}{number:>9,}\n")
