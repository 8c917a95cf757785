"""The description of a bundle: card, Croissant metadata, licences, a copy of the report."""
