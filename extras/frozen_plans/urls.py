from django.urls import path

from studies.pages.addressed import view

app_name = "frozen_plans"
urlpatterns = [
    path("plan/", view("extras.frozen_plans.pages:plan"), name="plan"),
    path("deviations/", view("extras.frozen_plans.pages:deviations"), name="deviations"),
]
