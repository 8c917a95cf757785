from django.urls import path

from analysis.pages.items import disagreement_views

app_name = "disagreements"
urlpatterns = [
    path("", disagreement_views.disagreements, name="list"),
    path("status/", disagreement_views.status, name="status"),
]
