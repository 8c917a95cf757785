from django.apps import AppConfig


class ShareLinksConfig(AppConfig):
    name = "extras.share_links"
    addresses = {"": "extras.share_links.urls"}

    def ready(self) -> None:
        from analysis.exports import catalogue
        from analysis.lifecycle import requests
        from extras.share_links.links import links_of_an_owner
        from studies import held_copies
        from studies.services.accounts import team

        catalogue.MORE_FOLDERS.add(f"{self.name}.blind_bundle:EXPORT")
        requests.GIVEN_OUT.add(f"{self.name}.links:LINKS")
        held_copies.MORE.add(f"{self.name}.links:HELD")
        team.register(links_of_an_owner)
