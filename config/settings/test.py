"""Tests: the same settings with cheap passwords and files that need no collecting."""

import atexit
import os
import shutil
import tempfile


def _forget(folder: str, made_by: int) -> None:
    """Delete a run's folder when the process that created it ends, not when a fork does."""
    if os.getpid() == made_by:
        shutil.rmtree(folder, ignore_errors=True)


if "VAR_DIR" not in os.environ:
    # The workers of a run inherit the name, and end before the process that created the folder.
    os.environ["VAR_DIR"] = tempfile.mkdtemp(prefix="thirdperson-test-")
    atexit.register(_forget, os.environ["VAR_DIR"], os.getpid())
os.environ.setdefault("SECRET_KEY", "tests-only-" + "0" * 50)

from config.settings.base import *  # noqa: E402  it reads VAR_DIR

# Its `flush` empties the tables after a test that committed.
INSTALLED_APPS = ["tests.emptying", *INSTALLED_APPS]
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
FAILURES_OF_EXTRAS_STOP = True
EXTRAS_OF_NEW_STUDIES = ["all"]
WHITENOISE_USE_FINDERS = True
STATIC_ROOT = None  # type: ignore[assignment]  # files are found in their source folders
WHITENOISE_AUTOREFRESH = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# A file, not memory, so that threads meet the same locks as in production.
if "sqlite" in str(DATABASES["default"]["ENGINE"]):
    DATABASES["default"]["TEST"] = {"NAME": str(VAR_DIR / "test.sqlite3")}
