from django.urls import path

from analysis.pages.items import audit_views

app_name = "audit"
urlpatterns = [
    path("", audit_views.findings, name="findings"),
    path("status/", audit_views.status, name="status"),
    path("again/", audit_views.again, name="again"),
    path("accept/", audit_views.accept_finding, name="accept"),
]
