from django.apps import AppConfig


class ActivityConfig(AppConfig):
    name = "extras.activity"
    addresses = {"studies/<slug:slug>/activity/": "extras.activity.pages"}

    def ready(self) -> None:
        from extras.activity.pages import section_page
        from studies.pages.workbench import register_pages, section_pages

        section_pages.register(section_page)
        register_pages("settings", "activity:")
