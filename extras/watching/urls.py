from django.urls import path

from studies.pages.addressed import view

app_name = "watching"
urlpatterns = [
    path("", view("extras.watching.views:list_sets", new="create"), name="list"),
    path(
        "<str:public_id>/", view("extras.watching.views:show", "look", "read", "stop"), name="show"
    ),
]
