"""Researchers' pages of adjudication, below /studies/<slug>/adjudication/."""

from django.urls import path

from studies.pages.addressed import view

app_name = "adjudication"
urlpatterns = [
    path(
        "",
        view(
            "extras.label_models.pages:adjudication",
            "close",
            "end",
            "send",
            experts="add",
            rule="save_rule",
        ),
        name="adjudication",
    ),
]
