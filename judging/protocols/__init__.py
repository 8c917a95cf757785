"""What a judge is asked and how its reply is read, one module each. No Django."""
