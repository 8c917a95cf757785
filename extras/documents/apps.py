from django.apps import AppConfig


class DocumentsConfig(AppConfig):
    name = "extras.documents"
    addresses = {"studies/<slug:slug>/reports/<str:public_id>/": "extras.documents.urls"}

    def ready(self) -> None:
        from analysis.report import added_files

        added_files.MORE.add(f"{self.name}.files:PICTURES", f"{self.name}.files:PAPER")
        added_files.ARTICLE_WRITERS.add(f"{self.name}.files:ARTICLE")
