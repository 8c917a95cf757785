"""Pages of the audit of items, and where notes on items are stored."""

from django.urls import path

from studies.pages.addressed import view

app_name = "audit"
urlpatterns = [
    path(
        "audit/",
        view("extras.audit.views:findings", "again", accept="accept_finding", progress="status"),
        name="findings",
    ),
    path("items/<str:key>/note/", view("extras.audit.note_views:save_note"), name="note"),
]
