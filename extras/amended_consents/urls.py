from django.urls import path

from studies.pages.addressed import view

app_name = "amended_consents"
urlpatterns = [path("", view("extras.amended_consents.views:consent_versions"), name="versions")]
