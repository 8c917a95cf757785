from django.urls import path

from studies.pages.addressed import view

app_name = "prolific_tools"
urlpatterns = [
    path("filters/", view("extras.prolific_tools.filters_page:filters"), name="filters"),
    path("money/", view("extras.prolific_tools.ledger_page:money_page"), name="money"),
    path(
        "money/ledger.csv", view("extras.prolific_tools.ledger_page:money_file"), name="money-file"
    ),
    path(
        "demographics/",
        view("extras.prolific_tools.demographics_page:refresh"),
        name="demographics",
    ),
    path("dry-run/", view("extras.prolific_tools.dry_run_page:rehearse"), name="dry-run"),
    path("walk/", view("extras.prolific_tools.walkthrough:walk"), name="walk"),
]
