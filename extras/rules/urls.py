"""Pages of a study: rules that may explain its disagreements."""

from django.urls import path

from extras.rules import views

app_name = "rules"
urlpatterns = [
    path("why/", views.why, name="why"),
    path("why/status/", views.status, name="status"),
    path("why/again/", views.again, name="again"),
]
