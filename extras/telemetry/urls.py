from django.urls import path

from extras.telemetry.metrics import metrics

urlpatterns = [path("", metrics, name="metrics")]
