from django.urls import path

from studies.pages.addressed import view

app_name = "watching"
urlpatterns = [
    path("", view("extras.watching.views:list_sets"), name="list"),
    path("new/", view("extras.watching.views:create"), name="create"),
    path("<str:public_id>/", view("extras.watching.views:show"), name="show"),
    path("<str:public_id>/look/", view("extras.watching.views:look"), name="look"),
    path("<str:public_id>/read/", view("extras.watching.views:read"), name="read"),
    path("<str:public_id>/stop/", view("extras.watching.views:stop"), name="stop"),
]
