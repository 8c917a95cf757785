"""Researchers' pages, below /studies/<slug>/people/panels/."""

from django.urls import path

from studies.pages.addressed import view

app_name = "panels"
urlpatterns = [
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
