from django.apps import AppConfig


class StudiesConfig(AppConfig):
    name = "studies"

    def ready(self) -> None:
        from django.contrib.auth.signals import user_logged_in

        from studies.importers.columns.uploads import content_of
        from studies.pages.signed_in import begin_session
        from studies.pages.workbench import navigation, setup, study_list
        from studies.services.whole_studies import removal
        from studies.study_files import items, parts

        # The one place that every way of signing in passes.
        user_logged_in.connect(begin_session, dispatch_uid="begin_session")
        removal.register(content_of)
        for part in (items.Items(), items.Source(), items.Draw()):
            parts.register(part)
        navigation.register()
        setup.register()
        study_list.register()
