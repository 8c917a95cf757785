from django.urls import path

from studies.pages.addressed import view

app_name = "agents"
urlpatterns = [
    path("", view("extras.agents.views:proposals"), name="proposals"),
    path("<str:public_id>/", view("extras.agents.views:decide"), name="decide"),
]
