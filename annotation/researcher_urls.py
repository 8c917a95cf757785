from django.urls import path

from annotation import researcher_views as views

app_name = "people"
urlpatterns = [
    path("", views.people, name="list"),
    path("codes/", views.codes, name="codes"),
    path("panel/", views.panel, name="panel"),
]
