from django.urls import path

from studies.pages.addressed import view

app_name = "item_editing"
urlpatterns = [
    path("items/<str:key>/edit/", view("extras.item_editing.views:edit"), name="edit"),
    path("items/<str:key>/persona/", view("extras.item_editing.views:persona"), name="persona"),
    path("items/<str:key>/delete/", view("extras.item_editing.views:delete"), name="delete"),
    # Not below items/, where it could be an item's address.
    path("delete-items/", view("extras.item_editing.views:delete_all"), name="delete-all"),
]
