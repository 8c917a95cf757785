from django.urls import path

from studies.pages.addressed import view

urlpatterns = [path("", view("extras.administration.telemetry.metrics:metrics"), name="metrics")]
