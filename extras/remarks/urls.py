"""The page of remarks, below /studies/<slug>/remarks/."""

from django.urls import path

from studies.pages.addressed import view

app_name = "remarks"
urlpatterns = [path("", view("extras.remarks.setup:remarks"), name="remarks")]
