from django.apps import AppConfig
from django.conf import settings

from config.env import env, folder


class AdministrationConfig(AppConfig):
    name = "extras.administration"
    addresses = {"administration/": "extras.administration.urls"}

    def ready(self) -> None:
        from studies.pages.workbench import ADMINISTRATION

        # Where backups go that are made on the Server page.
        default = settings.VAR_DIR / "backups"
        settings.BACKUP_DIR = env("BACKUP_DIR", cast=folder, default=default, parse_default=True)
        ADMINISTRATION.add(f"{self.name}.views:LINK")
