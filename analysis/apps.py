from django.apps import AppConfig


class AnalysisConfig(AppConfig):
    name = "analysis"

    def ready(self) -> None:
        from analysis.audit.job import audit_for
        from analysis.lifecycle.storage import content_of, remove_files_and_rows
        from analysis.pages import workbench
        from studies.importers import uploads
        from studies.services import whole_studies

        whole_studies.register_content(content_of)
        whole_studies.register_remover(remove_files_and_rows)
        uploads.register(audit_for)
        workbench.register()
