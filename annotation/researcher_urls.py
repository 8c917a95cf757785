from django.urls import path

from annotation import person_views, preview_frames, setup_views
from annotation import researcher_views as views

app_name = "people"
urlpatterns = [
    path("", views.people, name="list"),
    path("annotator/", person_views.person, name="person"),
    path("checks/", setup_views.checks, name="checks"),
    path("codes/", views.codes, name="codes"),
    path("preview/", preview_frames.frames, name="preview"),
    path("preview/<slug:step>/", preview_frames.frames, name="preview-step"),
    path("panel/", views.panel, name="panel"),
]
