from django.urls import path

from extras.replication import views

app_name = "replication"
urlpatterns = [path("", views.recover_wording, name="recover-wording")]
