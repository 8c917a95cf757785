from django.urls import path

from studies.pages.addressed import view

app_name = "estimation"
urlpatterns = [path("draw/", view("extras.estimation.views:draw"), name="draw")]
