"""The delivery of an export: request, queue, worker job, bundle, expiry and deletion."""
