from django.apps import AppConfig


class AdministrationConfig(AppConfig):
    name = "extras.administration"
    addresses = {
        "administration/": "extras.administration.urls",
        "admin/components/": "extras.administration.components",
        "studies/<slug:slug>/activity/": "extras.administration.activity",
        "": "extras.administration.documentation.urls",
    }

    def ready(self) -> None:
        from extras.administration.activity import section_page
        from studies.pages.workbench import (
            ADMINISTRATION,
            MAIN_LINKS,
            register_pages,
            section_pages,
        )

        ADMINISTRATION.add(f"{self.name}.views:LINK")
        MAIN_LINKS.add(f"{self.name}.documentation.views:LINK")
        section_pages.register(section_page)
        register_pages("settings", "activity:")
