"""Django for one page: its templates, without a database, models or a settings file."""

from django.apps import apps
from django.conf import settings

from thirdperson.program import APPS

_TAGS = {
    "humanize_numbers": "studies.templatetags.humanize_numbers",
    "report_words": "analysis.templatetags.report_words",
}


def set_up() -> None:
    """Configure Django for this process, unless it is already set up."""
    if apps.ready:
        return
    if not settings.configured:
        settings.configure(
            BASE_DIR=APPS,
            MANIFESTS=["config.core:CORE"],
            FAILURES_OF_EXTRAS_STOP=True,
            TEMPLATES=[
                {
                    "BACKEND": "django.template.backends.django.DjangoTemplates",
                    "DIRS": [APPS / "templates"],
                    "OPTIONS": {"libraries": _TAGS},
                }
            ],
            USE_I18N=False,
            USE_TZ=True,
        )
    # `django.setup()` does this too, but first imports the parts for requests and databases.
    apps.populate(settings.INSTALLED_APPS)
