"""Pages of a study: wordings that its judges learn from people."""

from django.urls import path

from studies.pages.addressed import view

app_name = "improving"
urlpatterns = [
    path("", view("extras.improving.views:list_improvements"), name="list"),
    path("next/", view("extras.improving.views:next_items"), name="next"),
    path(
        "<str:public_id>/",
        view("extras.improving.views:show", "again", progress="status"),
        name="show",
    ),
]
