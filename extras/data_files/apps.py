from django.apps import AppConfig


class DataFilesConfig(AppConfig):
    name = "extras.data_files"

    def ready(self) -> None:
        from analysis.exports import catalogue, table_files

        names = ["SPSS", "STATA", "PARQUET_R", "BOM", "CSV2", "CSV2_BOM"]
        table_files.MORE_FORMATS.add(
            *(f"{self.name}.formats:{name}" for name in (*names, "SEMICOLON", "SEMICOLON_BOM")),
            f"{self.name}.codebook:PAGE",
            f"{self.name}.codebook:DDI",
        )
        catalogue.MORE.add(
            *(f"{self.name}.other_shapes:{name}" for name in ("MT_BENCH", "WIDE", "RELIABILITY")),
            f"{self.name}.codebook:CODEBOOK",
        )
