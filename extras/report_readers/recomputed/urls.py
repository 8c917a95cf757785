from django.urls import path

from studies.pages.addressed import view

app_name = "verification"
urlpatterns = [
    path(
        "", view("extras.report_readers.recomputed.views:verify", progress="status"), name="verify"
    ),
]
