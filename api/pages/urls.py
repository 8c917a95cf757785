from django.urls import path

from api.pages import views

app_name = "webhooks"
urlpatterns = [
    path("", views.list_webhooks, name="list"),
    path("add/", views.add, name="add"),
    path("<str:public_id>/", views.webhook, name="webhook"),
    path("<str:public_id>/test/", views.send_test, name="test"),
    path("<str:public_id>/delete/", views.delete, name="delete"),
    path("<str:public_id>/again/", views.again, name="again"),
]
