"""Pages of graded answers, below /studies/<slug>/graded/."""

from django.urls import path

from extras.graded import setup

app_name = "graded"
urlpatterns = [path("", setup.questions, name="questions")]
