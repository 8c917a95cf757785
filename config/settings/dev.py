"""The embedded default: one machine, nothing to configure."""

from config.settings.base import *

STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
WHITENOISE_USE_FINDERS = True
STATIC_ROOT = None  # type: ignore[assignment]  # files are found in their source folders
