from django.urls import path

from extras.prolific_tools import (
    demographics_page,
    dry_run_page,
    filters_page,
    ledger_page,
    walkthrough,
)

app_name = "prolific_tools"
urlpatterns = [
    path("filters/", filters_page.filters, name="filters"),
    path("money/", ledger_page.money_page, name="money"),
    path("money/ledger.csv", ledger_page.money_file, name="money-file"),
    path("demographics/", demographics_page.refresh, name="demographics"),
    path("dry-run/", dry_run_page.rehearse, name="dry-run"),
    path("walk/", walkthrough.walk, name="walk"),
]
