"""Locations of the program's files: apps, templates, styles and translations.

A checkout has them at the top level. The wheel has them in `thirdperson/_apps`, so that it adds no
names as general as `analysis` to an environment.
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "_apps"
IS_INSTALLED = _INSTALLED.is_dir()
APPS = _INSTALLED if IS_INSTALLED else _PACKAGE.parent
