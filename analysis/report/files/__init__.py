"""Files saved with a report's page: tables, pictures, a citation, a copy to share."""
