"""Addresses below /studies/<slug>/judges/."""

from django.urls import path

from extras.validation import asking

app_name = "validation"
urlpatterns = [path("datasheet/", asking.datasheet, name="datasheet")]
