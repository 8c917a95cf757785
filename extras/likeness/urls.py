from django.urls import path

from extras.likeness import views

app_name = "likeness"
urlpatterns = [
    path("annotators/", views.annotators, name="annotators"),
    path("annotators/status/", views.status, name="status"),
    path("annotator/", views.annotator, name="annotator"),
]
