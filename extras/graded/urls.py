"""Pages of graded answers, below /studies/<slug>/graded/."""

from django.urls import path

from studies.pages.addressed import view

app_name = "graded"
urlpatterns = [path("", view("extras.graded.setup:questions"), name="questions")]
