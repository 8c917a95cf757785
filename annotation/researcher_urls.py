from django.urls import path

from annotation import researcher_views as views
from annotation import setup_views

app_name = "people"
urlpatterns = [
    path("", views.people, name="list"),
    path("checks/", setup_views.checks, name="checks"),
    path("codes/", views.codes, name="codes"),
    path("panel/", views.panel, name="panel"),
]
