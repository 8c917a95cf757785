"""Django for one page: templates and app names, without a database or a settings file."""

import django
from django.apps import apps
from django.conf import settings

from thirdperson.program import APPS


def set_up() -> None:
    """Configure Django for this process, unless it is already set up.

    A second set-up would close the streams of log handlers.
    """
    if apps.ready:
        return
    if not settings.configured:
        settings.configure(
            BASE_DIR=APPS,
            INSTALLED_APPS=[
                "studies",
                "annotation",
                "judging",
                "analysis",
                "django.contrib.auth",
                "django.contrib.contenttypes",
            ],
            TEMPLATES=[
                {
                    "BACKEND": "django.template.backends.django.DjangoTemplates",
                    "DIRS": [APPS / "templates"],
                    "APP_DIRS": True,
                }
            ],
            DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
            USE_I18N=False,
            USE_TZ=True,
        )
    django.setup()
