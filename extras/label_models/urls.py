"""Researchers’ pages of adjudication, and those where experts decide."""

from django.urls import include, path

from studies.pages.addressed import view

_EXPERTS = [
    path("<str:expert_id>/", view("extras.label_models.expert_views:start"), name="start"),
    path(
        "<str:expert_id>/<int:position>/",
        view("extras.label_models.expert_views:item", "undo"),
        name="item",
    ),
    path(
        "<str:expert_id>/media/<str:sha256>/",
        view("extras.label_models.expert_views:media"),
        name="media",
    ),
]
_RESEARCHERS = [
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
urlpatterns = [
    path("adjudicate/", include((_EXPERTS, "experts"))),
    path("studies/<slug:slug>/adjudication/", include((_RESEARCHERS, "adjudication"))),
]
