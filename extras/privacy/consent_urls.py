from django.urls import path

from studies.pages.addressed import view

app_name = "consents"
urlpatterns = [path("", view("extras.privacy.consent_views:consent_versions"), name="versions")]
