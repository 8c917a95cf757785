from django.urls import path

from extras.verification import views

app_name = "verification"
urlpatterns = [
    path("", views.verify, name="verify"),
    path("status/", views.status, name="status"),
]
