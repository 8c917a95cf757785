from django.urls import path

from studies.pages.addressed import view

app_name = "agents"
urlpatterns = [
    path("", view("extras.agents.views:proposals", "decide"), name="proposals"),
]
