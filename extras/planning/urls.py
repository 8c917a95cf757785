from django.urls import path

from extras.planning import views

app_name = "planning"
urlpatterns = [
    path("", views.forecast, name="forecast"),
    path("status/", views.status, name="status"),
    path("watched/", views.watched_comparison, name="watched"),
]
