from django.urls import path

from studies.pages.addressed import view

app_name = "editing"
urlpatterns = [
    path("items/<str:key>/edit/", view("extras.editing.views:edit"), name="edit"),
    path("items/<str:key>/persona/", view("extras.editing.views:persona"), name="persona"),
    path("items/<str:key>/delete/", view("extras.editing.views:delete"), name="delete"),
    # Not below items/, where it could be an item's address.
    path("delete-items/", view("extras.editing.views:delete_all"), name="delete-all"),
]
