"""What a report is saved as, next to its page: tables, pictures, a citation, a copy to share."""
