from django.urls import path

from extras.certificates import views

app_name = "certificates"
urlpatterns = [
    path("", views.list_certificates, name="list"),
    path("new/", views.create, name="create"),
    path("<str:public_id>/", views.show, name="show"),
    path("<str:public_id>/status/", views.status, name="status"),
    path("<str:public_id>/passport.json", views.passport, name="passport"),
    path("<str:public_id>/label/", views.label, name="label"),
    path("<str:public_id>/labels.csv", views.labels, name="labels"),
    path("<str:public_id>/route/", views.route, name="route"),
]
