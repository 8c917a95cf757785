"""Addresses below /studies/<slug>/judges/."""

from django.urls import path

from studies.pages.addressed import view

app_name = "validation"
urlpatterns = [path("datasheet/", view("extras.validation.asking:datasheet"), name="datasheet")]
