from django.urls import path

from studies.pages.addressed import view

app_name = "certificates"
urlpatterns = [
    path("", view("extras.certificates.views:list_certificates"), name="list"),
    path("new/", view("extras.certificates.views:create"), name="create"),
    path("<str:public_id>/", view("extras.certificates.views:show"), name="show"),
    path("<str:public_id>/status/", view("extras.certificates.views:status"), name="status"),
    path(
        "<str:public_id>/passport.json", view("extras.certificates.views:passport"), name="passport"
    ),
    path("<str:public_id>/label/", view("extras.certificates.views:label"), name="label"),
    path("<str:public_id>/labels.csv", view("extras.certificates.views:labels"), name="labels"),
    path("<str:public_id>/route/", view("extras.certificates.views:route"), name="route"),
]
