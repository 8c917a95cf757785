"""Addresses below /studies/<slug>/judges/."""

from django.urls import path

from extras.advice import discussions

app_name = "advice"
urlpatterns = [
    path("campaign/<str:campaign_id>/discuss/<int:jury_id>/", discussions.discuss, name="discuss"),
]
