FROM python:3.12.11-slim
WORKDIR /app
RUN useradd --create-home --uid 1000 thirdperson && mkdir /app/var && chown thirdperson /app/var
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt
COPY . .
# The commit is shown as a part of the version.
ARG COMMIT=
ENV THIRDPERSON_COMMIT=$COMMIT
ENV DJANGO_SETTINGS_MODULE=config.settings.base HOST=0.0.0.0 PYTHONUNBUFFERED=1
# Static files are part of the image; the key is used only for this step.
RUN SECRET_KEY=build-only DATABASE_URL=sqlite:////tmp/none python manage.py collectstatic --noinput \
    && chmod -R a+rX staticfiles && chown -R thirdperson /app/var
# The user below cannot write here: without this, every start of a process compiles all modules again.
RUN python -m compileall -q .
USER thirdperson
EXPOSE 8000
CMD ["python", "-m", "config.processes", "web"]
