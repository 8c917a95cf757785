"""Pages where experts decide, by an account or by a link that needs none."""

from django.urls import path

from studies.pages.addressed import view

app_name = "experts"
urlpatterns = [
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
