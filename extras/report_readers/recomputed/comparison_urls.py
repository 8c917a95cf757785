from django.urls import path

from studies.pages.addressed import view

app_name = "comparison"
urlpatterns = [
    path("", view("extras.report_readers.recomputed.comparison:compare"), name="reports")
]
