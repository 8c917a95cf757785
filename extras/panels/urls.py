"""Links of panels for participants, and researchers’ pages."""

from django.urls import include, path

from studies.pages.addressed import view

_PARTICIPANTS = [
    path("from/<slug:panel_name>/", view("extras.panels.participant_views:entry"), name="entry"),
]
_RESEARCHERS = [
    path("", view("extras.panels.pages:panels"), name="list"),
    path("new/", view("extras.panels.pages:new"), name="new"),
    path(
        "<slug:panel_name>/",
        view("extras.panels.pages:panel", "results", "remove", files="write_file"),
        name="panel",
    ),
    path("<slug:panel_name>/edit/", view("extras.panels.pages:edit"), name="edit"),
    path(
        "<slug:panel_name>/files/<int:file_id>/",
        view("extras.panels.pages:payment_file"),
        name="payment-file",
    ),
]
urlpatterns = [
    path("s/<slug:slug>/", include((_PARTICIPANTS, "panel_entry"))),
    path("studies/<slug:slug>/people/panels/", include((_RESEARCHERS, "panels"))),
]
