"""Requests of one person, and versions of the consent."""

from django.urls import include, path

from studies.pages.addressed import view

_PEOPLE = [
    path("", view("extras.privacy.views:find"), name="find"),
    path("person/", view("extras.privacy.views:request_page"), name="person"),
    path("person/file/", view("extras.privacy.views:person_file"), name="file"),
    path("done/<slug:reference>/", view("extras.privacy.views:done"), name="done"),
]
_CONSENT = [path("", view("extras.privacy.consent_views:consent_versions"), name="versions")]
urlpatterns = [
    path("studies/<slug:slug>/people/find/", include((_PEOPLE, "privacy"))),
    path("studies/<slug:slug>/people/consent/", include((_CONSENT, "consents"))),
]
