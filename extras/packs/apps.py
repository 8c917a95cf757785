from django.apps import AppConfig


class PacksConfig(AppConfig):
    name = "extras.packs"
    addresses = {"studies/<slug:slug>/judges/<str:run_id>/": "extras.packs.urls"}

    def ready(self) -> None:
        from config.operations.stored_files import MORE as FILES
        from extras.packs.jobs import content_of, delete_packs
        from judging.deliveries import MORE as DELIVERIES
        from studies.services import whole_studies

        DELIVERIES.add(f"{self.name}.delivery:PACKS", f"{self.name}.batches:BATCHES")
        FILES.add(f"{self.name}.jobs:FILES")
        whole_studies.register_content(content_of)
        whole_studies.register_remover(delete_packs)
