"""Read the database into frozen arrays and rows. Only this folder of analysis reads other apps."""
