"""The routes of the API, one module for each subject.

A route reads the request, calls a service or selector of an app, and shapes the response. The rules
are those of the pages: a study that the user may not see, or not change, gives a 404.
"""
