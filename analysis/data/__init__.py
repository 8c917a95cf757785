"""From the database to frozen arrays and rows; no other folder of analysis reads other apps."""
