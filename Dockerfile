FROM python:3.12-slim AS build
WORKDIR /src
RUN python -m venv /venv
COPY requirements.txt ./
RUN /venv/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements.txt
COPY parley ./parley
COPY gateway ./gateway
COPY adapters ./adapters
COPY runtime ./runtime
COPY config ./gateway/_data/config
COPY examples ./gateway/_data/examples
RUN packages="$(/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
    && cp -r parley gateway adapters runtime "$packages/" \
    && (cd "$packages" && /venv/bin/python -m compileall -q parley gateway adapters runtime) \
    && printf '#!/bin/sh\nexec /venv/bin/python -m gateway "$@"\n' > /venv/bin/parley && chmod +x /venv/bin/parley

FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home parley && install -d -o parley -g parley -m 700 /data
COPY --from=build /venv /venv
# The jail is bubblewrap where the container allows user namespaces, else Landlock and seccomp, which need no rights.
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PARLEY_DATA_DIR=/data PARLEY_SANDBOX__JAIL=required \
    PARLEY_WEB__HOST=0.0.0.0 PARLEY_WEB__PORT=8420 PARLEY_WEB__PUBLIC_HOSTS=localhost
USER parley
WORKDIR /home/parley
VOLUME /data
EXPOSE 8420
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["sh", "-c", "python -c \"import urllib.request as r; r.urlopen('http://127.0.0.1:$PARLEY_WEB__PORT/healthz', timeout=4)\""]
ENTRYPOINT ["parley"]
CMD ["run"]
