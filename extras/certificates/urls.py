from django.urls import path

from studies.pages.addressed import view

app_name = "certificates"
urlpatterns = [
    path("", view("extras.certificates.views:list_certificates", new="create"), name="list"),
    path(
        "<str:public_id>/",
        view("extras.certificates.views:show", "label", "route", progress="status"),
        name="show",
    ),
    path(
        "<str:public_id>/passport.json", view("extras.certificates.views:passport"), name="passport"
    ),
    path("<str:public_id>/labels.csv", view("extras.certificates.views:labels"), name="labels"),
]
