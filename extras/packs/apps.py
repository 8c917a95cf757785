from django.apps import AppConfig


class PacksConfig(AppConfig):
    name = "extras.packs"
    addresses = {"studies/<slug:slug>/judges/<str:run_id>/": "extras.packs.urls"}

    def ready(self) -> None:
        from config.operations.stored_files import MORE as FILES
        from extras.packs.whole_studies import content_of, delete_packs
        from judging.deliveries import MORE as DELIVERIES
        from studies.services.whole_studies import removal, shown_people

        DELIVERIES.add(f"{self.name}.delivery:PACKS")
        FILES.add(f"{self.name}.jobs:FILES")
        removal.register(content_of)
        shown_people.register(delete_packs)
