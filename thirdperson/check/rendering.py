"""Django for one page: templates and models, without a database, pages or a settings file."""

import django
from django.apps import AppConfig, apps
from django.conf import settings

from thirdperson.program import APPS


class StudiesTables(AppConfig):
    """An app's models alone: nothing registers pages, which take most of a start."""

    name = "studies"


class AnnotationTables(AppConfig):
    name = "annotation"


class JudgingTables(AppConfig):
    name = "judging"


class AnalysisTables(AppConfig):
    name = "analysis"


_TABLES = (StudiesTables, AnnotationTables, JudgingTables, AnalysisTables)


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
                *(f"{__name__}.{one.__name__}" for one in _TABLES),
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
