from django.apps import AppConfig


class StudiesConfig(AppConfig):
    name = "studies"

    def ready(self) -> None:
        from django.contrib.auth.models import User
        from django.contrib.auth.signals import user_logged_in
        from django.db.models.signals import pre_delete

        from studies.importers.columns.uploads import content_of
        from studies.pages.signed_in import begin_session
        from studies.pages.workbench import navigation, setup, study_list
        from studies.services.studies import keep_name
        from studies.services.whole_studies import removal
        from studies.study_files import items, parts

        # The places that every way of deleting an account, and of signing in, passes.
        pre_delete.connect(keep_name, sender=User, dispatch_uid="keep_name")
        user_logged_in.connect(begin_session, dispatch_uid="begin_session")
        removal.register(content_of)
        for part in (items.ItemsFile(), items.SourceFile(), items.DrawFile()):
            parts.register(part)
        navigation.register()
        setup.register()
        study_list.register()
