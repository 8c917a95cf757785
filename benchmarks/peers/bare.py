"""The anchor: a Django project as `startproject` makes it, with one view that inserts one row.

    python -m benchmarks.peers.bare        creates its table
    gunicorn benchmarks.peers.bare:application

A form with a choice and a certainty, next to a question and two responses. POST checks it, inserts
the answer and redirects to the form. DATABASE_URL names its PostgreSQL.
"""

import os
from typing import Any

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path

from benchmarks import _workload as workload
from config.env import database

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Answer</title></head>
<body><h1>Which response would this person prefer?</h1>
<dl>{% for one in item.persona %}<dt>{{ one.label }}</dt><dd>{{ one.value }}</dd>{% endfor %}</dl>
<blockquote>{{ item.question }}</blockquote><p>{{ item.r1 }}</p><p>{{ item.r2 }}</p>
<form method="post">{% csrf_token %}{{ form.as_p }}<button>Next</button></form></body></html>"""

settings.configure(
    SECRET_KEY="benchmark",  # noqa: S106
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    DATABASES={"default": database(os.environ["DATABASE_URL"])},
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.messages",
    ],
    MIDDLEWARE=[
        "django.middleware.security.SecurityMiddleware",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
        "django.middleware.clickjacking.XFrameOptionsMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {
                "loaders": [
                    (
                        "django.template.loaders.cached.Loader",
                        [
                            ("django.template.loaders.locmem.Loader", {"page.html": _PAGE}),
                        ],
                    ),
                ],
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ],
            },
        }
    ],
)
django.setup()

from django import forms  # noqa: E402  after the settings
from django.db import connection, models  # noqa: E402
from django.shortcuts import render  # noqa: E402


class BareAnswer(models.Model):  # noqa: DJ008  never shown
    choice = models.CharField(max_length=1, choices={"a": "Response A", "b": "Response B"})
    certainty = models.PositiveSmallIntegerField()
    answered_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "bare"


class BareForm(forms.ModelForm):
    class Meta:
        model = BareAnswer
        fields = ("choice", "certainty")


_ITEMS = workload.items(workload.PER_ANNOTATOR)


def answer(request: HttpRequest) -> HttpResponse:
    form = BareForm(request.POST or None)
    if form.is_valid():
        form.save()
        return HttpResponseRedirect("/")
    context: dict[str, Any] = {"form": form, "item": _ITEMS[0]}
    return render(request, "page.html", context)


urlpatterns = [path("", answer)]
application = get_wsgi_application()

if __name__ == "__main__":
    with connection.schema_editor() as editor:
        editor.create_model(BareAnswer)
