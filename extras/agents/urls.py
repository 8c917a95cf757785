from django.urls import path

from extras.agents import views

app_name = "agents"
urlpatterns = [
    path("", views.proposals, name="proposals"),
    path("<str:public_id>/", views.decide, name="decide"),
]
