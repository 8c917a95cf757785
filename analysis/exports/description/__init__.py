"""What a bundle says about its data: card, Croissant metadata, licences, a copy of the report."""
