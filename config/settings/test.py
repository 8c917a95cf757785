"""Tests: the same settings with cheap passwords and files that need no collecting."""

import os
import tempfile

os.environ.setdefault("VAR_DIR", tempfile.mkdtemp(prefix="thirdperson-test-"))
os.environ.setdefault("SECRET_KEY", "tests-only-" + "0" * 50)

from config.settings.base import *

STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
WHITENOISE_USE_FINDERS = True
STATIC_ROOT = None  # type: ignore[assignment]  # files are found where they lie
WHITENOISE_AUTOREFRESH = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# A file, not memory: threads then meet the same locks as in production.
if "sqlite" in str(DATABASES["default"]["ENGINE"]):
    DATABASES["default"]["TEST"] = {"NAME": str(VAR_DIR / "test.sqlite3")}
