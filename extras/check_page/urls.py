from django.urls import path

from extras.check_page import views

app_name = "check_page"
urlpatterns = [
    path("", views.page, name="page"),
    path("<path:name>", views.page, name="file"),
]
