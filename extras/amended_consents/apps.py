from django.apps import AppConfig


class AmendedConsentsConfig(AppConfig):
    name = "extras.amended_consents"
    addresses = {"studies/<slug:slug>/people/consent/": "extras.amended_consents.views"}

    def ready(self) -> None:
        from extras.amended_consents import views
        from studies.pages import workbench

        workbench.section_pages.register(views.versions_page)
        workbench.register_pages("annotators", "amended_consents:")
