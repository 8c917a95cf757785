"""`thirdperson check` as a page: it runs in the browser of the reader, and sends nothing."""
