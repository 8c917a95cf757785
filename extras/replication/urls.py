from django.urls import path

from studies.pages.addressed import view

app_name = "replication"
urlpatterns = [path("", view("extras.replication.views:recover_wording"), name="recover-wording")]
