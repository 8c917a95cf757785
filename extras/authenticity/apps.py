from django.apps import AppConfig


class AuthenticityConfig(AppConfig):
    name = "extras.authenticity"
    addresses = {
        "studies/<slug:slug>/people/prolific/settle/authenticity/": "extras.authenticity.pages"
    }

    def ready(self) -> None:
        from annotation.prolific.settle.proposals import PARTS
        from studies import held_copies
        from studies.pages.workbench import register_pages

        PARTS.add(f"{self.name}.pages:PART")
        held_copies.MORE.add(f"{self.name}.results:HELD")
        register_pages("annotators", "authenticity:")
