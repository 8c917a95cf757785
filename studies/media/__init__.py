"""Pictures and sounds of items: what may come in, where the files are, and who may open one."""
