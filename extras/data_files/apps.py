from django.apps import AppConfig


class DataFilesConfig(AppConfig):
    name = "extras.data_files"

    def ready(self) -> None:
        from analysis.exports import catalogue, table_files

        names = ("SPSS", "STATA", "PARQUET_R")
        table_files.MORE_FORMATS.add(
            *(f"{self.name}.labelled_files:{name}" for name in names),
            *(f"{self.name}.spreadsheets:{name}" for name in ("BOM", "CSV2", "CSV2_BOM")),
            *(f"{self.name}.spreadsheets:{name}" for name in ("SEMICOLON", "SEMICOLON_BOM")),
            f"{self.name}.codebook:PAGE",
            f"{self.name}.codebook:DDI",
        )
        catalogue.MORE.add(f"{self.name}.codebook:CODEBOOK")
