"""From a request to a file: the queue, the worker's part, the bundle, expiry and deletion."""
