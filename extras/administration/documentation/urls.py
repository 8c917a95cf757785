from django.urls import path

from extras.administration.documentation import views

app_name = "documentation"
urlpatterns = [
    path("docs/", views.index, name="index"),
    path("docs/files/<path:path>", views.file, name="file"),
    path("docs/<path:name>.md", views.source, name="source"),
    path("docs/<path:name>/", views.page, name="page"),
    path("llms.txt", views.llms, name="llms"),
    path("llms-full.txt", views.llms_full, name="llms-full"),
]
