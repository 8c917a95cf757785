from django.apps import AppConfig


class PrivacyConfig(AppConfig):
    name = "extras.privacy"
    addresses = {"studies/<slug:slug>/people/find/": "extras.privacy.urls"}

    def ready(self) -> None:
        from extras.privacy import views
        from studies import held_copies
        from studies.pages import workbench

        held_copies.MORE.add(f"{self.name}.reports_and_exports:HELD")
        workbench.section_pages.register(views.search_page)
        workbench.register_pages("annotators", "privacy:")
        workbench.PERSON_PAGES.add(f"{self.name}.views:PERSON")
