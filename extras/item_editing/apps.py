from django.apps import AppConfig


class ItemEditingConfig(AppConfig):
    name = "extras.item_editing"
    addresses = {"studies/<slug:slug>/": "extras.item_editing.views"}

    def ready(self) -> None:
        from studies.pages.workbench import ITEM_LINKS, register_pages

        for name in ("EDIT", "PERSONA", "DELETE", "DELETE_ALL"):
            ITEM_LINKS.add(f"{self.name}.views:{name}")
        register_pages("items", "item_editing:")
