"""Researchers' pages, below /studies/<slug>/people/panels/."""

from django.urls import path

from studies.pages.addressed import view

app_name = "panels"
urlpatterns = [
    path("", view("extras.panels.pages:panels"), name="list"),
    path("new/", view("extras.panels.pages:new"), name="new"),
    path("<slug:panel_name>/", view("extras.panels.pages:panel"), name="panel"),
    path("<slug:panel_name>/edit/", view("extras.panels.pages:edit"), name="edit"),
    path("<slug:panel_name>/remove/", view("extras.panels.pages:remove"), name="remove"),
    path("<slug:panel_name>/files/", view("extras.panels.pages:write_file"), name="write-file"),
    path(
        "<slug:panel_name>/files/<int:file_id>/",
        view("extras.panels.pages:payment_file"),
        name="payment-file",
    ),
    path(
        "<slug:panel_name>/files/<int:file_id>/results/",
        view("extras.panels.pages:results"),
        name="results",
    ),
]
