from django.apps import AppConfig


class DocumentsConfig(AppConfig):
    name = "extras.documents"
    addresses = {"studies/<slug:slug>/reports/<str:public_id>/": "extras.documents.urls"}

    def ready(self) -> None:
        from analysis.report import added_files, article

        added_files.MORE.add(f"{self.name}.files:PICTURES", f"{self.name}.files:PAPER")
        article.WRITERS.add(f"{self.name}.files:ARTICLE")
